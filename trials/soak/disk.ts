/** A small file system that the trial can fill. */
import { mkdtemp, open, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { failureAsRoot } from '../../__test__/support/small-disk.js'

const FILL_CHUNK_BYTES = 1024 * 1024

export interface SoakDisk {
  readonly path: string
  /** Control file of the preloaded library, outside the file system that becomes full. */
  readonly control: string
  /** Why it is only a directory; null if it is a separate file system. */
  readonly reason: string | null
  /** Uses up the free space. Does nothing if it is only a directory. */
  fill(): Promise<void>
  /** Frees the space again. */
  free(): Promise<void>
  remove(): Promise<void>
}

/** Mounts a file system of `mebibytes` MiB, or creates a directory if mounting is not allowed. */
export async function soakDisk(mebibytes: number): Promise<SoakDisk> {
  const path = await mkdtemp(join(tmpdir(), 'siftd-soak-'))
  const reason = failureAsRoot('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path])
  const ballast = join(path, 'ballast')
  return {
    path,
    control: `${path}.control`,
    reason,
    async fill() {
      if (reason !== null) return
      const file = await open(ballast, 'w')
      try {
        const chunk = Buffer.alloc(FILL_CHUNK_BYTES)
        for (;;) {
          const { bavail, bsize } = await statfs(path)
          const bytes = Math.min(chunk.length, bavail * bsize)
          if (bytes === 0 || (await file.write(chunk, 0, bytes)).bytesWritten === 0) return
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        await file.close()
      }
    },
    free: () => rm(ballast, { force: true }),
    async remove() {
      if (reason === null) failureAsRoot('umount', ['-l', path])
      await rm(path, { recursive: true, force: true })
      await rm(`${path}.control`, { force: true })
    },
  }
}
