import type { Figure, UsageReport } from '../../telemetry/index.js'
import { BATCH_BYTES_MAX } from './limits.js'

/** Properties of the instance in every event. */
export interface Sender {
  /** The uid of the instance. It identifies the anonymous user. */
  readonly instanceUid: string
  /** The version of the service. */
  readonly version: string
}

/** The state of the instance: nested groups of figures. */
export type Traits = Readonly<Record<string, unknown>>

/** An event as a collector receives it. */
export type ReportEvent = Readonly<Record<string, unknown>> & { readonly type: 'identify' | 'track' }

/** Builds the event with the state of the instance. */
export function identifyEvent(sender: Sender, traits: Traits, at: number): ReportEvent {
  return { type: 'identify', ...commonOf(sender, at), traits }
}

/** Builds the event of the first start, which is sent once. */
export function launchedEvent(sender: Sender, at: number): ReportEvent {
  return { type: 'track', event: 'Launched', ...commonOf(sender, at), properties: {} }
}

/** Builds the event for the requests of one kind. Its time is that of the first request. */
export function trackEvent(sender: Sender, { name, count, firstAt, figures }: UsageReport): ReportEvent {
  const agents = figures.user_agent ?? []
  const all: Readonly<Record<string, Figure>> = {
    'requests.total_received': count,
    ...figures,
    // Both names are needed: the list of metrics uses one, recorded events the other.
    'user-agent': agents,
  }
  return { type: 'track', event: name, ...commonOf(sender, firstAt), properties: nested(all) }
}

const commonOf = ({ instanceUid, version }: Sender, at: number) => ({
  userId: instanceUid,
  context: { app: { version } },
  timestamp: new Date(at).toISOString(),
})

/**
 * Serialises events to batches of at most `BATCH_BYTES_MAX` bytes: `{"batch":[…],"sentAt":"…"}`. Drops an event that
 * does not fit alone.
 */
export function batchesOf(events: readonly ReportEvent[], at: number): readonly string[] {
  const end = `],"sentAt":${JSON.stringify(new Date(at).toISOString())}}`
  const start = '{"batch":['
  const batches: string[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const event of events) {
    const text = JSON.stringify(event)
    const length = Buffer.byteLength(text) + 1
    if (start.length + length + end.length > BATCH_BYTES_MAX) continue
    if (bytes + length > BATCH_BYTES_MAX) {
      batches.push([])
      bytes = start.length + end.length
    }
    batches.at(-1)?.push(text)
    bytes += length
  }
  return batches.map((texts) => `${start}${texts.join(',')}${end}`)
}

/** Nests objects by the parts of their names: `{"a.b": 1}` becomes `{"a": {"b": 1}}`. */
function nested(flat: Readonly<Record<string, unknown>>): Traits {
  const tree: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(flat)) {
    const parts = name.split('.')
    let node = tree
    for (const part of parts.slice(0, -1)) {
      node[part] ??= {}
      node = node[part] as Record<string, unknown>
    }
    node[parts.at(-1) ?? name] = value
  }
  return tree
}
