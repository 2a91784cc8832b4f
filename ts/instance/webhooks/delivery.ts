import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { type Outbound, OutboundError, pauseMs } from '../../outbound/index.js'
import { jsonOf } from '../../parse/index.js'
import type { StoredWebhook, TaskLog, WebhookStore } from '../../tasks/index.js'
import { CALL_BACKOFF, CALL_TIMEOUT_MS, TASKS_PER_READ } from './limits.js'

/** The services for a delivery. */
export interface DeliveryParts {
  readonly store: WebhookStore
  readonly outbound: Outbound
  readonly log: TaskLog
}

/**
 * Calls one webhook for every finished batch, oldest first, and repeats each call until it succeeds. Its position is in
 * the store, so that a restart continues there. After a crash, the batch delivered last may be delivered again.
 */
export class Delivery {
  readonly #uuid: string
  readonly #parts: DeliveryParts
  readonly #abort = new AbortController()
  readonly #ended: Promise<void>
  #webhook: StoredWebhook
  #failures = 0
  #isWoken = false
  #wake: (isImmediate: boolean) => void = () => undefined

  constructor(webhook: StoredWebhook, parts: DeliveryParts) {
    this.#uuid = webhook.uuid
    this.#webhook = webhook
    this.#parts = parts
    this.#ended = this.#run()
  }

  /** Called when a batch has finished. */
  wake(): void {
    this.#isWoken = true
    this.#wake(false)
  }

  /** Uses another URL or other headers from the next call on, and makes this call at once. */
  change(webhook: StoredWebhook): void {
    this.#webhook = webhook
    this.#failures = 0
    this.#wake(true)
  }

  /** Aborts the running call and ends the delivery. */
  async close(): Promise<void> {
    this.#abort.abort()
    this.#wake(true)
    await this.#ended
  }

  async #run(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      this.#isWoken = false
      try {
        const batchUid = await this.#parts.store.next(this.#uuid)
        if (batchUid === null) await this.#wait(null)
        else await this.#deliver(batchUid)
        this.#failures = 0
      } catch (error) {
        if (this.#abort.signal.aborted) return
        await this.#wait(this.#failed(error))
      }
    }
  }

  async #deliver(batchUid: number): Promise<void> {
    const { url, headers } = this.#webhook
    const { store, outbound } = this.#parts
    const { status } = await outbound.call({
      method: 'POST',
      url,
      headers: withOwn(headers),
      body: () => gzipped(lines(store, batchUid)),
      timeoutMs: CALL_TIMEOUT_MS,
      answerBytesMax: null,
      signal: this.#abort.signal,
    })
    if (status >= 400) throw new RefusedByReceiver(status)
    await store.delivered(this.#uuid, batchUid)
  }

  /** Counts and logs a failed call. @returns milliseconds until the next attempt */
  #failed(error: unknown): number {
    this.#failures++
    const pause = pauseMs(this.#failures, CALL_BACKOFF)
    const facts = { webhook: this.#uuid, failures: this.#failures, againInMs: Math.round(pause) }
    const known = error instanceof OutboundError || error instanceof RefusedByReceiver
    if (known) this.#parts.log.warn({ ...facts, reason: error.message }, 'a webhook could not be called')
    else this.#parts.log.error({ ...facts, err: error }, 'a batch could not be delivered to a webhook')
    return pause
  }

  /** Pauses. @param ms null: until a batch finishes */
  async #wait(ms: number | null): Promise<void> {
    if (this.#abort.signal.aborted || (ms === null && this.#isWoken)) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      // A finished batch must not end a pause after a failure, or each batch would cause a retry.
      this.#wake = (isImmediate) => {
        if (ms === null || isImmediate) resolve()
      }
      if (ms !== null) timer = setTimeout(resolve, ms)
    })
    clearTimeout(timer)
    this.#wake = () => undefined
  }
}

const ownHeaders = {
  'Content-Type': 'application/x-ndjson',
  'Content-Encoding': 'gzip',
  'Accept-Encoding': 'gzip',
}

/** Returns the headers of a call. Configured headers replace default headers with the same name in any case. */
function withOwn(configured: StoredWebhook['headers']): StoredWebhook['headers'] {
  const names = new Set(Object.keys(configured).map((name) => name.toLowerCase()))
  const own = Object.entries(ownHeaders).filter(([name]) => !names.has(name.toLowerCase()))
  return { ...Object.fromEntries(own), ...configured }
}

class RefusedByReceiver extends Error {
  override readonly name = 'RefusedByReceiver'

  constructor(status: number) {
    super(`it answered with status ${status}`)
  }
}

/** The tasks of a batch as NDJSON, in the API's format. */
async function* lines(store: WebhookStore, batchUid: number): AsyncGenerator<string> {
  for (let after = -1; ; ) {
    const tasks = await store.tasks(batchUid, after, TASKS_PER_READ)
    const last = tasks.at(-1)
    if (last === undefined) return
    yield tasks.map((task) => `${jsonOf(task)}\n`).join('')
    after = last.uid
  }
}

function gzipped(text: AsyncIterable<string>): AsyncIterable<Uint8Array> {
  const gzip = createGzip()
  // An error of the source destroys `gzip`, so the reader of `gzip` receives it.
  pipeline(Readable.from(text), gzip, () => undefined)
  return gzip
}
