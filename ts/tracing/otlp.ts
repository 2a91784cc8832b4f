/** Spans in the JSON form of OTLP, the protocol of OpenTelemetry. */
import { type AttributeValue, type Span, spanKinds } from './span.js'

/** The process that made the spans. */
export interface TracedService {
  readonly version: string
  readonly instanceId: string
}

/** Returns the body of a request to `/v1/traces`. */
export const otlpJson = (spans: readonly Span[], { version, instanceId }: TracedService): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: {
          attributes: attributesOf([
            ['service.name', 'siftd'],
            ['service.version', version],
            ['service.instance.id', instanceId],
          ]),
        },
        scopeSpans: [{ scope: { name: 'siftd', version }, spans: spans.map(spanJson) }],
      },
    ],
  })

const spanJson = (span: Span): object => ({
  traceId: span.traceId,
  spanId: span.spanId,
  ...(span.parentId !== null && { parentSpanId: span.parentId }),
  name: span.name,
  kind: spanKinds[span.kind],
  startTimeUnixNano: nanoseconds(span.startedAt),
  endTimeUnixNano: nanoseconds(span.endedAt ?? span.startedAt),
  attributes: attributesOf([...span.attributes]),
  ...(span.link !== null && { links: [span.link] }),
  status: span.failure === null ? {} : { code: STATUS_ERROR, message: span.failure },
})

const STATUS_ERROR = 2

const attributesOf = (attributes: readonly (readonly [string, AttributeValue])[]): readonly object[] =>
  attributes.map(([key, value]) => ({ key, value: valueJson(value) }))

function valueJson(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  // Integers are texts, since they may have 64 bits.
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/** Converts a time of `performance.now()` to nanoseconds since 1970. */
function nanoseconds(at: number): string {
  const ms = performance.timeOrigin + at
  const whole = Math.floor(ms)
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1_000_000)))
}
