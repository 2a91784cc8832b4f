/** Sends ended spans to a collector, in the background and with bounded memory. */
import type { Outbound } from '../outbound/index.js'
import {
  LAST_SEND_MS_MAX,
  QUEUED_SPANS_MAX,
  SEND_INTERVAL_MS,
  SEND_MS_MAX,
  SENT_SPANS_MAX,
} from './limits.js'
import { otlpJson, type TracedService } from './otlp.js'
import type { Span } from './span.js'

/** Spans since the start. */
export interface ExportFigures {
  readonly exported: number
  readonly dropped: number
}

export interface ExporterSetup {
  readonly outbound: Outbound
  /** Address of the collector, such as `http://localhost:4318`. */
  readonly endpoint: string
  /** Further headers of requests. */
  readonly headers: Readonly<Record<string, string>>
  readonly service: TracedService
  /** Milliseconds between two requests. Default: see `limits.ts`. */
  readonly intervalMs?: number
  /** Called when requests begin to fail, and when they succeed again. */
  readonly report: (failure: string | null) => void
}

export class Exporter {
  readonly #setup: ExporterSetup
  readonly #url: string
  #queue: Span[] = []
  #timer: NodeJS.Timeout | null = null
  #sending: Promise<void> | null = null
  #exported = 0
  #dropped = 0
  #isFailing = false

  constructor(setup: ExporterSetup) {
    this.#setup = setup
    this.#url = tracesUrl(setup.endpoint)
  }

  get figures(): ExportFigures {
    return { exported: this.#exported, dropped: this.#dropped }
  }

  add(span: Span): void {
    if (this.#queue.length >= QUEUED_SPANS_MAX) {
      this.#dropped += 1
      return
    }
    this.#queue.push(span)
    if (this.#queue.length >= SENT_SPANS_MAX) this.#flush()
    else this.#flushLater()
  }

  /** Sends what is left, for a bounded time. */
  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LAST_SEND_MS_MAX)
    })
    await Promise.race([this.#drained(), late])
    clearTimeout(timer)
  }

  async #drained(): Promise<void> {
    while (this.#queue.length > 0 || this.#sending !== null) {
      this.#flush()
      await this.#sending
    }
  }

  #flushLater(): void {
    this.#timer ??= setTimeout(() => this.#flush(), this.#setup.intervalMs ?? SEND_INTERVAL_MS).unref()
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null
      // A span may have come after the last look at the queue.
      if (this.#queue.length > 0) this.#flushLater()
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const spans = this.#queue.slice(0, SENT_SPANS_MAX)
      this.#queue = this.#queue.slice(SENT_SPANS_MAX)
      const failure = await this.#send(spans)
      if (failure === null) this.#exported += spans.length
      else this.#dropped += spans.length
      const isFailing = failure !== null
      if (isFailing !== this.#isFailing) this.#setup.report(failure)
      this.#isFailing = isFailing
    }
  }

  /** Returns the reason of a failure; null: the collector took the spans. */
  async #send(spans: readonly Span[]): Promise<string | null> {
    const { outbound, headers, service } = this.#setup
    try {
      const { status } = await outbound.call({
        method: 'POST',
        url: this.#url,
        headers: { 'content-type': 'application/json', ...headers },
        body: otlpJson(spans, service),
        redirects: 'refused',
        timeoutMs: SEND_MS_MAX,
        answerBytesMax: null,
      })
      return status < 300 ? null : `the collector answered with status ${status}`
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
}

/** Returns the URL for spans. An endpoint that names it already is not changed. */
function tracesUrl(endpoint: string): string {
  const url = new URL(endpoint)
  if (!url.pathname.endsWith('/v1/traces')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  return url.href
}
