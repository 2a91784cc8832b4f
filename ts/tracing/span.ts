import { randomBytes } from 'node:crypto'
import { OutboundError } from '../outbound/index.js'
import { TEXT_CHARS_MAX } from './limits.js'
import type { RemoteParent } from './traceparent.js'

export type AttributeValue = string | number | boolean

/** Kinds of spans, with their numbers in OTLP. */
export const spanKinds = { internal: 1, server: 2, client: 3 } as const
type SpanKind = keyof typeof spanKinds

export interface SpanStart {
  readonly name: string
  /** Default: internal. */
  readonly kind?: SpanKind
  readonly attributes?: Readonly<Record<string, AttributeValue>>
  /** By `performance.now()`. Default: now. */
  readonly startedAt?: number
}

/** A recorded piece of work. It is sent when it ends. */
export class Span {
  readonly traceId: string
  readonly spanId = randomBytes(8).toString('hex')
  /** null: the first span of its trace. */
  readonly parentId: string | null
  name: string
  readonly kind: SpanKind
  /** By `performance.now()`. */
  readonly startedAt: number
  #endedAt: number | null = null
  readonly attributes = new Map<string, AttributeValue>()
  /** The message of a failure; null: none. */
  failure: string | null = null
  /** A span of another trace that caused this one. */
  link: { readonly traceId: string; readonly spanId: string } | null = null
  readonly #ended: (span: Span) => void

  constructor(
    parent: Pick<RemoteParent, 'traceId' | 'spanId'> | null,
    { name, kind = 'internal', attributes = {}, startedAt = performance.now() }: SpanStart,
    ended: (span: Span) => void,
  ) {
    this.traceId = parent?.traceId ?? randomBytes(16).toString('hex')
    this.parentId = parent?.spanId ?? null
    this.name = name
    this.kind = kind
    this.startedAt = startedAt
    this.#ended = ended
    for (const [key, value] of Object.entries(attributes)) this.set(key, value)
  }

  get endedAt(): number | null {
    return this.#endedAt
  }

  set(name: string, value: AttributeValue): void {
    this.attributes.set(name, typeof value === 'string' ? value.slice(0, TEXT_CHARS_MAX) : value)
  }

  /** Marks the span as failed. Messages are left out, since they may quote queries, except those of calls. */
  fail(error: unknown): void {
    if (!(error instanceof Error)) {
      this.failure = 'failed'
      return
    }
    const { code } = error as { readonly code?: unknown }
    const kind = typeof code === 'string' ? code : error.name
    this.set('error.type', kind)
    this.failure = error instanceof OutboundError ? error.message.slice(0, TEXT_CHARS_MAX) : kind
  }

  /** Ends the span once. @param at by `performance.now()` */
  end(at = performance.now()): void {
    if (this.#endedAt !== null) return
    this.#endedAt = Math.max(at, this.startedAt)
    this.#ended(this)
  }
}
