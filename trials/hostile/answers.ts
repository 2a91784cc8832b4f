/** Parses HTTP answers from raw bytes, because HTTP libraries do not allow the trial's malformed requests. */

import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'

export interface Answer {
  readonly status: number
  /** Names are lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** First `READ_BYTES_MAX` bytes of the body, decompressed if complete. */
  readonly body: Buffer
  /** Length of the complete body as sent. */
  readonly bytes: number
}

/** Bytes of an answer that are kept. The rest is only counted. */
const READ_BYTES_MAX = 8 * 1024 * 1024

interface Head {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly framing: 'none' | 'chunked' | 'end' | number
}

const decoders: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: (body) => gunzipSync(body),
  deflate: (body) => inflateSync(body),
  br: (body) => brotliDecompressSync(body),
}

/** Splits a stream of bytes into answers. */
export class AnswerReader {
  readonly answers: Answer[] = []
  readonly #withoutBody: boolean
  #rest: Buffer = Buffer.alloc(0)
  #head: Head | null = null
  #chunks: Buffer[] = []
  #bytes = 0
  #chunk: { left: number; readonly isLast: boolean } | null = null

  /** @param method method of the requests. Answers to HEAD have no body, whatever their headers say */
  constructor(method: string) {
    this.#withoutBody = method === 'HEAD'
  }

  /** True if an answer has begun. */
  get begun(): boolean {
    return this.#head !== null || this.answers.length > 0
  }

  /** @throws Error if the bytes are not an HTTP answer */
  push(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    while (this.#step()) {
      // Each step consumes one head or one part of a body.
    }
  }

  /** Call when the connection has ended. Completes a body without a length. */
  end(): void {
    if (this.#head?.framing === 'end') this.#finish()
  }

  #step(): boolean {
    if (this.#head === null) return this.#readHead()
    const { framing } = this.#head
    if (framing === 'none') return this.#finish()
    if (framing === 'chunked') return this.#readChunk()
    if (framing === 'end') {
      this.#take(this.#rest.length)
      return false
    }
    this.#take(Math.min(framing - this.#bytes, this.#rest.length))
    return this.#bytes === framing && this.#finish()
  }

  #readHead(): boolean {
    const end = this.#rest.indexOf('\r\n\r\n')
    if (end === -1) return false
    const [first = '', ...lines] = this.#rest.subarray(0, end).toString('latin1').split('\r\n')
    this.#rest = this.#rest.subarray(end + 4)
    if (!first.startsWith('HTTP/1.1 ')) throw new Error(`an answer begins with ${first.slice(0, 40)}`)
    const status = Number(first.slice(9, 12))
    // An interim answer. The final answer follows.
    if (status < 200) return this.#rest.length > 0
    const headers: Record<string, string> = {}
    for (const line of lines) {
      const colon = line.indexOf(':')
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
    }
    this.#head = { status, headers, framing: this.#framingOf(status, headers) }
    return true
  }

  #framingOf(status: number, headers: Readonly<Record<string, string>>): Head['framing'] {
    if (this.#withoutBody || status === 204 || status === 304) return 'none'
    if (headers['transfer-encoding']?.toLowerCase() === 'chunked') return 'chunked'
    const length = headers['content-length']
    return length === undefined ? 'end' : length === '0' ? 'none' : Number(length)
  }

  #readChunk(): boolean {
    if (this.#chunk === null) {
      const end = this.#rest.indexOf('\r\n')
      if (end === -1) return false
      const size = Number.parseInt(this.#rest.subarray(0, end).toString('latin1'), 16)
      this.#chunk = { left: size, isLast: size === 0 }
      this.#rest = this.#rest.subarray(end + 2)
    }
    const taken = Math.min(this.#chunk.left, this.#rest.length)
    this.#take(taken)
    this.#chunk.left -= taken
    // The bytes of every chunk are followed by CRLF.
    if (this.#chunk.left > 0 || this.#rest.length < 2) return false
    this.#rest = this.#rest.subarray(2)
    const { isLast } = this.#chunk
    this.#chunk = null
    return isLast ? this.#finish() : true
  }

  #take(bytes: number): void {
    const taken = this.#rest.subarray(0, bytes)
    this.#rest = this.#rest.subarray(bytes)
    if (this.#bytes < READ_BYTES_MAX) this.#chunks.push(taken)
    this.#bytes += bytes
  }

  #finish(): true {
    const { status, headers } = this.#head as Head
    const body = Buffer.concat(this.#chunks)
    const decoder = decoders[headers['content-encoding'] ?? '']
    const isComplete = body.length === this.#bytes && body.length > 0
    this.answers.push({
      status,
      headers,
      body: decoder && isComplete ? decoder(body) : body,
      bytes: this.#bytes,
    })
    this.#head = null
    this.#chunks = []
    this.#bytes = 0
    return true
  }
}
