import { AsyncLocalStorage } from 'node:async_hooks'
import { Exporter, type ExporterSetup, type ExportFigures } from './exporter.js'
import { Span, type SpanStart } from './span.js'
import { readTraceparent, traceparentOf } from './traceparent.js'

export interface TracerSetup extends ExporterSetup {
  /** Share of the traces that begin here to record, from 0 to 1. A caller's decision prevails. */
  readonly sampleRatio: number
  /** True if spans may show the texts of queries and filters. */
  readonly showsQueries: boolean
}

/** The span of the running work, or its trace, if that is not recorded. */
type Context = Span | Unrecorded

/** Work of a trace that is not recorded. */
interface Unrecorded {
  readonly traceId: null
  /** The header to pass on; null: none. */
  readonly traceparent: string | null
}

/**
 * Records spans of the work of this process. The span of the running work follows its promises and callbacks
 * (`AsyncLocalStorage`). Exists only while tracing is on.
 */
export class Tracer {
  readonly showsQueries: boolean
  readonly #exporter: Exporter
  readonly #ratio: number
  readonly #contexts = new AsyncLocalStorage<Context>()
  readonly #ended = (span: Span): void => this.#exporter.add(span)

  constructor({ sampleRatio, showsQueries, ...exporter }: TracerSetup) {
    this.showsQueries = showsQueries
    this.#ratio = sampleRatio
    this.#exporter = new Exporter(exporter)
  }

  get figures(): ExportFigures {
    return this.#exporter.figures
  }

  /** Returns the span of the running work; null: none is recorded. */
  current(): Span | null {
    const context = this.#contexts.getStore()
    return context instanceof Span && context.endedAt === null ? context : null
  }

  /** Returns the header for a call to another service; null: none. */
  traceparent(): string | null {
    const context = this.#contexts.getStore()
    if (context === undefined) return null
    if (!(context instanceof Span)) return context.traceparent
    return traceparentOf({ ...context, isSampled: true })
  }

  /**
   * Begins the span of a received request.
   * @param header `traceparent` of the request
   * @param handle runs as part of the span
   * @returns null: it is not recorded
   */
  receive(header: unknown, start: SpanStart, handle: (span: Span | null) => void): void {
    const parent = readTraceparent(header)
    const isSampled = parent?.isSampled ?? this.#isSampled()
    const span = isSampled ? new Span(parent, { kind: 'server', ...start }, this.#ended) : null
    const traceparent = parent === null ? null : traceparentOf({ ...parent, isSampled: false })
    this.#contexts.run(span ?? { traceId: null, traceparent }, handle, span)
  }

  /**
   * Begins a span of the running work; null if that is not recorded. Work outside any span begins a trace, if it is
   * sampled. The caller ends the span.
   */
  begin(start: SpanStart): Span | null {
    const context = this.#contexts.getStore()
    if (context instanceof Span && context.endedAt === null) return new Span(context, start, this.#ended)
    if (context !== undefined && !(context instanceof Span)) return null
    if (!this.#isSampled()) return null
    const span = new Span(null, start, this.#ended)
    // Work that an ended span began, such as a webhook after a batch.
    if (context !== undefined) span.link = { traceId: context.traceId, spanId: context.spanId }
    return span
  }

  /** Runs work as a span of the running work. */
  async run<T>(start: SpanStart, work: (span: Span | null) => Promise<T>): Promise<T> {
    const span = this.begin(start)
    return span === null ? work(null) : this.#runIn(span, work)
  }

  /** Runs work as the first span of a trace, whatever it was begun by. */
  async runFirst<T>(start: SpanStart, work: (span: Span | null) => Promise<T>): Promise<T> {
    return this.#contexts.exit(async () => {
      if (this.#isSampled()) return this.#runIn(new Span(null, start, this.#ended), work)
      return this.#contexts.run({ traceId: null, traceparent: null }, work, null)
    })
  }

  /** Adds spans whose times are already known, such as the stages of a search, below `parent`. */
  addEnded(parent: Span, start: SpanStart & { readonly startedAt: number }, endedAt: number): Span {
    const span = new Span(parent, start, this.#ended)
    span.end(endedAt)
    return span
  }

  /** Sends the last spans, for a bounded time. */
  close(): Promise<void> {
    return this.#exporter.close()
  }

  async #runIn<T>(span: Span, work: (span: Span | null) => Promise<T>): Promise<T> {
    try {
      return await this.#contexts.run(span, work, span)
    } catch (error) {
      span.fail(error)
      throw error
    } finally {
      span.end()
    }
  }

  #isSampled(): boolean {
    return this.#ratio > 0 && Math.random() < this.#ratio
  }
}
