/**
 * Requests as data. Even a request of many bytes is small enough to print and save.
 *
 * ```
 * text      = piece*
 * piece     = string                     sent as UTF-8
 *           | { repeat: string, times }  the string, repeated
 *           | { hex: string, times }     bytes that are not UTF-8, repeated
 * ```
 * `{provider}` in a string is replaced by the address of the trial's provider.
 */
import { constants, createBrotliCompress, createDeflate, createGzip } from 'node:zlib'

export type Piece =
  | string
  | { readonly repeat: string; readonly times: number }
  | { readonly hex: string; readonly times: number }

export type Text = string | readonly Piece[]

/**
 * How a request reaches the server.
 * - `whole`: with a length, and the answer is read
 * - `chunked`: the same without a length
 * - `endless`: chunked, with the body repeated until an answer comes or 300 MB are sent
 * - `truncated`: with the length of the full body, but the connection is closed after half of it
 * - `abandoned`: the connection is closed as soon as everything is sent
 * - `unread`: no byte of the answer is read while other requests are sent
 * - `pipelined`: three times over one connection, without waiting
 * - `listening`: the connection is closed soon after the answer begins, because streams do not end
 */
export type Delivery =
  | 'whole'
  | 'chunked'
  | 'endless'
  | 'truncated'
  | 'abandoned'
  | 'unread'
  | 'pipelined'
  | 'listening'

export type Encoding = 'gzip' | 'br' | 'deflate'

export interface HostileRequest {
  readonly method: string
  /** Target of the request line, sent unchanged. */
  readonly path: Text
  /** Name of the client, see `clients.ts`. Default: the master key. */
  readonly as?: string
  /** Headers in addition to those that the body needs. An empty value removes a header. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Text
  /** Compression of the body. */
  readonly encoding?: Encoding
  readonly delivery?: Delivery
  /** Number of identical concurrent requests. */
  readonly copies?: number
}

/** Size of a chunk: large enough to be fast, small enough not to delay our timers. */
const CHUNK_BYTES = 64 * 1024

/** Yields the bytes of `text` in chunks. */
export function* bytesOf(text: Text, provider: string): Generator<Buffer> {
  for (const piece of typeof text === 'string' ? [text] : text) {
    if (typeof piece === 'string') {
      if (piece !== '') yield Buffer.from(piece.replaceAll('{provider}', provider))
      continue
    }
    const unit = 'hex' in piece ? Buffer.from(piece.hex, 'hex') : Buffer.from(piece.repeat)
    const unitsPerChunk = Math.max(1, Math.floor(CHUNK_BYTES / Math.max(1, unit.length)))
    const chunk = Buffer.concat(Array<Buffer>(Math.min(unitsPerChunk, piece.times)).fill(unit))
    let left = piece.times
    for (; left >= unitsPerChunk; left -= unitsPerChunk) yield chunk
    if (left > 0) yield chunk.subarray(0, left * unit.length)
  }
}

/** Returns the number of bytes that `bytesOf` yields. */
export function lengthOf(text: Text, provider: string): number {
  let bytes = 0
  for (const piece of typeof text === 'string' ? [text] : text) {
    if (typeof piece === 'string') bytes += Buffer.byteLength(piece.replaceAll('{provider}', provider))
    else if ('hex' in piece) bytes += (piece.hex.length / 2) * piece.times
    else bytes += Buffer.byteLength(piece.repeat) * piece.times
  }
  return bytes
}

const compressors = {
  gzip: () => createGzip(),
  deflate: () => createDeflate(),
  // The default quality takes seconds, and these bodies shrink to almost nothing anyway.
  br: () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
}

/** Compresses `chunks`. */
export async function compressed(chunks: Iterable<Buffer>, encoding: Encoding): Promise<Buffer> {
  const compressor = compressors[encoding]()
  const out: Buffer[] = []
  const finished = new Promise<void>((resolve, reject) => {
    compressor.on('data', (chunk: Buffer) => out.push(chunk))
    compressor.once('end', resolve)
    compressor.once('error', reject)
  })
  for (const chunk of chunks) {
    if (!compressor.write(chunk)) await new Promise((resolve) => compressor.once('drain', resolve))
  }
  compressor.end()
  await finished
  return Buffer.concat(out)
}

/** Shows a request in one line, cut if it is long. */
export function shown(request: HostileRequest): string {
  const text = JSON.stringify(request)
  return text.length > 400 ? `${text.slice(0, 400)}… (${text.length} characters)` : text
}
