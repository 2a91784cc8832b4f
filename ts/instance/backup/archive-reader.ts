/**
 * Unpacks untrusted archives. Their content has no influence on the paths that are written.
 */
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { ReadEntry } from 'tar'
import { makeDirectory } from '../../engine/index.js'
import { ArchiveError } from './archive-error.js'
import { BYTES_AFTER_END_MAX, DISK_BYTES_LEFT, ENTRIES_MAX, PATH_BYTES_MAX } from './limits.js'

/** Path inside the archive → path of the unpacked file. */
export type Unpacked = ReadonlyMap<string, string>

/**
 * Unpacks the `wanted` entries into files of `directory`, which it creates.
 * @param file a tar compressed with gzip
 * @param signal aborting it makes the promise reject soon with the reason of the signal
 * @throws ArchiveError if the file is not a gzip-compressed tar, is truncated, does not fit on the disk, or holds
 * anything but files and directories below its root
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
      // The parser would collect all bytes after the end mark, in time quadratic in their number.
      else if (!parser.write(chunk)) await Promise.race([once(parser, 'drain'), failed])
      if (behind <= BYTES_AFTER_END_MAX) continue
      // A pipeline would report that it was aborted, instead of the error thrown by its last function.
      refuse(new ArchiveError(`it has more than ${BYTES_AFTER_END_MAX} bytes after its end mark`))
      await failed
    }
    const parsed = once(parser, 'end')
    parser.end()
    await Promise.race([parsed, failed])
  })
  try {
    await Promise.race([flowing, failed])
    await Promise.race([Promise.all(taking), failed])
    if (!hasEndMark) throw new ArchiveError('it ends early: the mark at the end of a tar is missing')
  } catch (error) {
    // All writing must end before the promise rejects, so that the caller can remove the directory.
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
  `\`${path.slice(0, PATH_BYTES_MAX)}\` of the kind ${type}; only files and directories are accepted`

/** Returns the path from the root of the archive. @throws ArchiveError if it leads out of the archive */
function insidePath(path: string): string {
  const parts = path.replace(/^(\.\/)+/, '').split('/')
  const isInside = parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/[\0\\]/.test(part))
  if (isInside && Buffer.byteLength(path) <= PATH_BYTES_MAX) return parts.join('/')
  throw new ArchiveError(
    `the name \`${path.slice(0, PATH_BYTES_MAX)}\` is not the path of a file inside the archive`,
  )
}

async function requireDiskSpace({ path, size }: ReadEntry, directory: string): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  if (size <= bavail * bsize - DISK_BYTES_LEFT) return
  throw new ArchiveError(`\`${path}\` takes ${size} bytes, and the disk has ${bavail * bsize} left`)
}

/**
 * Converts errors of the tar and gzip readers to `ArchiveError`s, since the archive is at fault. Returns other errors
 * unchanged.
 */
function asArchiveError(error: unknown): unknown {
  const { code, message } = error as { readonly code?: unknown; readonly message: string }
  const isArchive = typeof code === 'string' && /^(TAR|Z)_/.test(code)
  return isArchive ? new ArchiveError(`it is not a complete gzip-compressed tar archive: ${message}`) : error
}
