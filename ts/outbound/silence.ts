import { Readable } from 'node:stream'
import { PASSED_BYTES_PER_MS_MIN } from './limits.js'

/** Longest delay of a timer of Node.js. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * Ends a request that is passed on if the other server makes no progress. Time in which the client of the request sends
 * or reads nothing does not count.
 */
export class Silence {
  readonly #ms: number
  readonly #late = new AbortController()
  #timer: NodeJS.Timeout | undefined
  /** True once the request is answered or has failed. The rest of its body is then not awaited. */
  #isOver = false

  /** @param ms longest time without progress */
  constructor(ms: number) {
    this.#ms = ms
  }

  /** Aborts after a silence. */
  get signal(): AbortSignal {
    return this.#late.signal
  }

  /** The body of the request; null: none. The other server has to take each chunk in time, and then begin its answer. */
  sent(body: Readable | null): Readable | null {
    if (body !== null) return Readable.from(this.#chunksSent(body), { objectMode: false })
    this.#await()
    return null
  }

  /** The body of the answer. The other server has to send each chunk in time. */
  received(body: Readable): Readable {
    this.end()
    // An answer that is not read to its end fails when it is closed.
    body.on('error', () => undefined)
    return Readable.from(this.#chunksReceived(body), { objectMode: false }).once('close', () => {
      this.#pause()
      body.destroy()
    })
  }

  /** Ends the request: nothing of it is awaited any more. */
  end(): void {
    this.#isOver = true
    this.#pause()
  }

  async *#chunksSent(body: Readable): AsyncGenerator<Buffer> {
    let bytes = 0
    // The body stays readable after a failure, so that its client can still get an answer.
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length
      if (!this.#isOver) this.#await()
      yield chunk as Buffer
      if (!this.#isOver) this.#pause()
    }
    // Before it answers, the other server may store the body, or send it to a bucket.
    if (!this.#isOver) this.#await(bytes / PASSED_BYTES_PER_MS_MIN)
  }

  async *#chunksReceived(body: Readable): AsyncGenerator<Buffer> {
    this.#await()
    for await (const chunk of body) {
      this.#pause()
      yield chunk as Buffer
      this.#await()
    }
    this.#pause()
  }

  #pause(): void {
    clearTimeout(this.#timer)
  }

  #await(moreMs = 0): void {
    this.#pause()
    if (this.#late.signal.aborted) return
    const ms = Math.min(this.#ms + moreMs, TIMER_MS_MAX)
    const late = (): void => this.#late.abort(new Error(`no progress for ${Math.round(ms)} ms`))
    this.#timer = setTimeout(late, ms)
  }
}
