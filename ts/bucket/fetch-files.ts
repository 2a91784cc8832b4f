/** Makes the files of an index from their parts in a bucket. */
import { mkdir, open } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { crc32 } from 'node:zlib'
import { bytesOf, type FilePart, type IndexFiles } from './file-parts.js'

/** A part that is not there, or not as it was written. */
export class DamagedPartError extends Error {
  override readonly name = 'DamagedPartError'
}

/** Reads the bytes of a part; null: the bucket does not have them. */
export type ReadPart = (part: FilePart) => Promise<Uint8Array | null>

/**
 * Writes files into a directory, which may be missing, and syncs them with their names. Files that are there are overwritten.
 * @param written called after each part with its bytes
 * @throws DamagedPartError; what was written then is of no use
 */
export async function fetchFiles(
  files: IndexFiles,
  directory: string,
  read: ReadPart,
  written: (bytes: number) => void,
): Promise<void> {
  for (const [name, parts] of files) {
    const path = join(directory, within(name))
    await mkdir(dirname(path), { recursive: true })
    const file = await open(path, 'w')
    try {
      let end = 0
      for (const part of parts) {
        if (part.from !== end) throw new DamagedPartError(`the file ${name} lacks its bytes from ${end} on`)
        const bytes = await read(part)
        if (bytes === null)
          throw new DamagedPartError(`${locationOf(part)} is missing: a part of the file ${name}`)
        if (bytes.length !== part.bytes || crc32(bytes) !== part.crc)
          throw new DamagedPartError(`${locationOf(part)} is damaged: a part of the file ${name}`)
        await file.writeFile(bytes)
        end = bytesOf([part])
        written(bytes.length)
      }
      await file.sync()
    } finally {
      await file.close()
    }
  }
  const made = new Set([directory, ...[...files.keys()].map((name) => dirname(join(directory, name)))])
  for (const one of made) await syncNames(one)
}

/** Windows refuses to open a directory; its file systems journal names by themselves. */
async function syncNames(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  await mkdir(directory, { recursive: true })
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** @throws DamagedPartError for a name that leads elsewhere: names come from outside this machine */
function within(name: string): string {
  const path = normalize(name)
  if (path.startsWith('..') || path.startsWith('/') || /[\\:\0]/.test(path) || path === '.')
    throw new DamagedPartError(`an index cannot have a file named ${JSON.stringify(name.slice(0, 100))}`)
  return path
}

const locationOf = ({ location }: FilePart): string =>
  'key' in location ? `the object ${location.key}` : `the entry ${location.seq} at byte ${location.offset}`
