/**
 * Here is an archive that is not trusted: which files are in it? Its content has no influence on where they are
 * written.
 */
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { ReadEntry } from 'tar'
import { makeDirectory } from '../tasks/index.js'
import { ArchiveError } from './archive-error.js'
import { BYTES_BEHIND_END_MAX, DISK_BYTES_LEFT, ENTRIES_MAX, PATH_BYTES_MAX } from './limits.js'

/** Path inside the archive → path of the file it was unpacked to. */
export type Unpacked = ReadonlyMap<string, string>

/**
 * Unpacks the entries that are `wanted` into files of `directory`, which it creates.
 * @param file a tar compressed with gzip
 * @param signal aborting it makes the promise reject soon with the reason of the signal
 * @throws ArchiveError if the file is no such archive, ends early, does not fit on the disk, or holds anything but files
 * and directories below its root
 */
export async function unpack(
  file: string,
  directory: string,
  wanted: (path: string) => boolean,
  signal: AbortSignal,
): Promise<Unpacked> {
  await makeDirectory(directory, 0o700)
  const unpacked = new Map<string, string>()
  const { Parser } = await import('tar')
  const parser = new Parser({ strict: true })
  const taking: Promise<void>[] = []
  const ended = new AbortController()
  let entries = 0
  let hasEndMark = false
  let refuse: (error: unknown) => void = () => undefined
  const failed = new Promise<never>((_, reject) => {
    refuse = (error) => reject(asArchiveError(error))
    parser.on('error', refuse)
    parser.on('eof', () => {
      hasEndMark = true
    })
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    parser.on('ignoredEntry', (entry: ReadEntry) => refuse(new ArchiveError(`it holds ${what(entry)}`)))
    parser.on('entry', (entry: ReadEntry) => {
      taking.push(take(entry))
      taking.at(-1)?.catch(refuse)
    })
  })
  failed.catch(() => undefined)
  const source = createReadStream(file)
  const plain = createGunzip()
  const flowing = pipeline(source, plain, async (chunks: AsyncIterable<Buffer>) => {
    let behind = 0
    for await (const chunk of chunks) {
      if (hasEndMark) behind += chunk.length
      // The parser would collect what follows the end mark, in time that is quadratic in its length.
      else if (!parser.write(chunk)) await Promise.race([once(parser, 'drain'), failed])
      if (behind <= BYTES_BEHIND_END_MAX) continue
      // A pipeline would report that it was aborted, and not the error that its last function throws.
      refuse(new ArchiveError(`it goes on for more than ${BYTES_BEHIND_END_MAX} bytes behind its end mark`))
      await failed
    }
    const whole = once(parser, 'end')
    parser.end()
    await Promise.race([whole, failed])
  })
  try {
    await Promise.race([flowing, failed])
    await Promise.race([Promise.all(taking), failed])
    if (!hasEndMark) throw new ArchiveError('it ends early: the mark at the end of a tar is missing')
  } catch (error) {
    // All writing ends before the promise rejects, so that the caller can remove the directory.
    ended.abort()
    source.destroy()
    await Promise.allSettled([flowing, ...taking])
    signal.throwIfAborted()
    throw asArchiveError(error)
  }
  return unpacked

  async function take(entry: ReadEntry): Promise<void> {
    if (++entries > ENTRIES_MAX) throw new ArchiveError(`it holds more than ${ENTRIES_MAX} entries`)
    if (entry.type === 'Directory') return void entry.resume()
    if (!fileTypes.has(entry.type)) throw new ArchiveError(`it holds ${what(entry)}`)
    const path = insidePath(entry.path)
    if (unpacked.has(path)) throw new ArchiveError(`it holds \`${path}\` twice`)
    if (!wanted(path)) return void entry.resume()
    await requireDiskSpace(entry, directory)
    ended.signal.throwIfAborted()
    const target = join(directory, String(unpacked.size))
    unpacked.set(path, target)
    await pipeline(entry, createWriteStream(target, { flags: 'wx', mode: 0o600 }), { signal: ended.signal })
  }
}

const fileTypes: ReadonlySet<string> = new Set(['File', 'OldFile', 'ContiguousFile'])

const what = ({ type, path }: ReadEntry): string =>
  `\`${path.slice(0, PATH_BYTES_MAX)}\` of the kind ${type}; only files and directories are taken`

/** The path from the root of the archive. @throws ArchiveError if it leads out of the archive */
function insidePath(path: string): string {
  const parts = path.replace(/^(\.\/)+/, '').split('/')
  const isInside = parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/[\0\\]/.test(part))
  if (isInside && Buffer.byteLength(path) <= PATH_BYTES_MAX) return parts.join('/')
  throw new ArchiveError(
    `the name \`${path.slice(0, PATH_BYTES_MAX)}\` is none of a file below the archive's root`,
  )
}

async function requireDiskSpace({ path, size }: ReadEntry, directory: string): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  if (size <= bavail * bsize - DISK_BYTES_LEFT) return
  throw new ArchiveError(`\`${path}\` takes ${size} bytes, and the disk has ${bavail * bsize} left`)
}

/**
 * Errors of the readers of tar and gzip as `ArchiveError`s, since the archive is at fault, and any other error as it is.
 */
function asArchiveError(error: unknown): unknown {
  const { code, message } = error as { readonly code?: unknown; readonly message: string }
  const isArchive = typeof code === 'string' && /^(TAR|Z)_/.test(code)
  return isArchive ? new ArchiveError(`it is no whole tar archive compressed with gzip: ${message}`) : error
}
