import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'

/** A file system of its own of so many MiB, null where this machine does not let us mount one. */
export async function smallDisk(t: ExecutionContext, mebibytes: number): Promise<string | null> {
  const path = await mkdtemp(join(tmpdir(), 'siftd-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path]).status === 0
  t.teardown(async () => {
    if (mounted) execFileSync('umount', ['-l', path])
    await rm(path, { recursive: true, force: true })
  })
  if (!mounted) t.log('no file system may be mounted here')
  return mounted ? path : null
}
