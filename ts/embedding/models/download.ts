/**
 * Downloads a file of a hub completely.
 *
 * A partial file is stored next to the target under a name with the checksum of the complete file. The next attempt,
 * also after a restart, only requests the rest, and only of the same file.
 */
import { open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import {
  isTransientStatus,
  type Outbound,
  OutboundError,
  type OutboundStream,
  retryAfterMs,
  retrying,
  type Wait,
} from '../../outbound/index.js'
import { type Checksum, checksumIn, hasChecksum } from './checksum.js'
import { DISK_RESERVE_BYTES, DOWNLOAD_ATTEMPTS_MAX, DOWNLOAD_PAUSE_MS, HUB_IDLE_MS } from './limits.js'
import { ModelError } from './model-error.js'

export interface Download {
  readonly url: string
  /** Sent to the hub itself, but not to redirect targets. */
  readonly headers: Readonly<Record<string, string>>
  /** Target path; its folder exists. */
  readonly path: string
  readonly bytesMax: number
  readonly signal: AbortSignal
  /** Called after each chunk. `total`: null if the hub does not send it. */
  progress(bytes: number, total: number | null): void
}

export interface DownloadSetup {
  readonly outbound: Outbound
  /** Waits between attempts. Default: a timer. */
  readonly wait?: Wait
}

/** Result of a download: the headers of the answer, or the status if the file is missing. */
type Downloaded = { readonly found: OutboundStream['headers'] } | { readonly missing: number }

/** A failed attempt that may succeed if repeated. */
class CutError extends Error {
  override readonly name = 'CutError'

  constructor(
    message: string,
    readonly headers: OutboundStream['headers'] = {},
  ) {
    super(message)
  }
}

/**
 * Downloads a file. Answers 401, 403 and 404 are reported as `missing`.
 * @throws ModelError, or OutboundError `aborted`
 */
export async function download(setup: DownloadSetup, file: Download): Promise<Downloaded> {
  try {
    return await retrying(() => attempt(setup, file), {
      firstMs: DOWNLOAD_PAUSE_MS.first,
      lastMs: DOWNLOAD_PAUSE_MS.longest,
      attemptsMax: DOWNLOAD_ATTEMPTS_MAX,
      worthRetrying: (error) =>
        error instanceof CutError ||
        (error instanceof OutboundError && (error.fault === 'unreachable' || error.fault === 'timeout')),
      askedPauseMs: (error, usualMs) =>
        (error instanceof CutError ? retryAfterMs(error.headers) : null) ?? usualMs,
      wait: setup.wait,
      signal: file.signal,
    })
  } catch (error) {
    const isExpected =
      error instanceof CutError || (error instanceof OutboundError && error.fault !== 'aborted')
    throw isExpected
      ? new ModelError(`\`${basename(file.path)}\` cannot be downloaded: ${error.message}`)
      : error
  }
}

/** The partial file of an earlier attempt. */
interface Part {
  readonly path: string
  readonly digest: string
  readonly bytes: number
}

async function attempt(setup: DownloadSetup, file: Download): Promise<Downloaded> {
  const part = await partOf(file.path)
  const answer = await setup.outbound.stream({
    url: file.url,
    headers: { ...file.headers, ...(part !== null && { range: `bytes=${part.bytes}-` }) },
    idleMs: HUB_IDLE_MS,
    signal: file.signal,
  })
  const { status } = answer
  const checksum = checksumIn(answer)
  if (part !== null && (status === 416 || (status === 206 && !continues(answer, part, checksum)))) {
    answer.discard()
    await rm(part.path)
    throw new CutError('the file on the hub changed during the download')
  }
  if (status !== 200 && status !== 206) {
    answer.discard()
    if (status === 401 || status === 403 || status === 404) return { missing: status }
    if (isTransientStatus(status)) throw new CutError(`the hub answered ${status}`, answer.headers)
    throw new ModelError(`\`${basename(file.path)}\` cannot be downloaded: the hub answered ${status}`)
  }
  if (part !== null && status === 200) await rm(part.path)
  const begun = status === 206 && part !== null ? part.bytes : 0
  const to = partPath(file.path, checksum)
  await received(answer, file, to, begun)
  if (checksum !== null && !(await hasChecksum(to, checksum))) {
    await rm(to)
    throw new ModelError(
      `\`${basename(file.path)}\` arrived with another checksum than the hub names, \`${checksum.digest}\``,
    )
  }
  await rename(to, file.path)
  return { found: { ...Object.assign({}, ...answer.redirects), ...answer.headers } }
}

/** Appends the body of an answer to the partial file. */
async function received(answer: OutboundStream, file: Download, to: string, begun: number): Promise<void> {
  const length = Number(answer.headers['content-length'] ?? Number.NaN)
  const total = Number.isSafeInteger(length) ? begun + length : null
  const tooLarge = () =>
    new ModelError(`\`${basename(file.path)}\` is larger than the limit of ${file.bytesMax} bytes`)
  try {
    if ((total ?? 0) > file.bytesMax) throw tooLarge()
    await requireRoom(dirname(file.path), total ?? 0)
  } catch (error) {
    answer.discard()
    throw error
  }
  const handle = await open(to, begun === 0 ? 'w' : 'a')
  try {
    let bytes = begun
    for await (const chunk of answer.body) {
      bytes += chunk.length
      if (bytes > file.bytesMax) throw tooLarge()
      await handle.appendFile(chunk)
      file.progress(bytes, total)
    }
    if (total !== null && bytes !== total) throw new CutError(`the hub sent ${bytes} of ${total} bytes`)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function requireRoom(directory: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory)
  if (bavail * bsize - bytes >= DISK_RESERVE_BYTES) return
  throw new ModelError(`the disk of \`${directory}\` has no room for another ${bytes} bytes`)
}

/** True if an answer 206 continues at the end of `part`, in the same file. */
const continues = (answer: OutboundStream, part: Part, checksum: Checksum | null): boolean =>
  checksum?.digest === part.digest &&
  String(answer.headers['content-range']).startsWith(`bytes ${part.bytes}-`)

const PART = '.part'

/** Without a checksum a download cannot be continued, so the name of its partial file is never searched for. */
const partPath = (path: string, checksum: Checksum | null): string =>
  `${path}.${checksum?.digest ?? 'unchecked'}${PART}`

/** Returns the partial file of the file at `path`, if it can be continued. */
async function partOf(path: string): Promise<Part | null> {
  const [directory, start] = [dirname(path), `${basename(path)}.`]
  for (const name of await readdir(directory)) {
    if (!name.startsWith(start) || !name.endsWith(PART)) continue
    const digest = name.slice(start.length, -PART.length)
    const found = join(directory, name)
    const { size } = await stat(found)
    if (size > 0 && /^[0-9a-f]+$/.test(digest)) return { path: found, digest, bytes: size }
    await rm(found)
  }
  return null
}
