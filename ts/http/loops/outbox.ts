import { wasSent, withSent } from '../../operations/index.js'
import type { PassedLine, SearchCounters, SearchEvent, Usage } from '../../telemetry/index.js'
import type { CountedSearch } from '../queries/index.js'
import { OUTBOX_ENTRIES_MAX, OUTBOX_MS } from './limits.js'
import type { Outbox, SentFields, UsageCall } from './messages.js'

/** Collects log lines and counts of a thread, and sends them to the main thread in batches. */
export class LoopOutbox {
  readonly #send: (outbox: Outbox) => void
  #lines: PassedLine[] = []
  #queries: CountedSearch[] = []
  #usage: UsageCall[] = []
  #timer: NodeJS.Timeout | null = null

  constructor(send: (outbox: Outbox) => void) {
    this.#send = send
  }

  line(line: PassedLine): void {
    this.#lines.push(line)
    this.#schedule()
  }

  query(search: CountedSearch): void {
    this.#queries.push(search)
    this.#schedule()
  }

  /** Returns counters that the main thread keeps. */
  usage(isOpen: boolean): Usage {
    return {
      isOpen,
      isEmpty: true,
      searches: (event) => this.#counters(event),
      record: (...args) => this.#call({ on: 'usage', method: 'record', args }),
      observe: () => undefined,
      bytes: () => 0,
      report: () => [],
    }
  }

  /** Sends what was collected. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const [lines, queries, usage] = [this.#lines, this.#queries, this.#usage]
    if (lines.length + queries.length + usage.length === 0) return
    this.#lines = []
    this.#queries = []
    this.#usage = []
    this.#send({ lines, queries, usage })
  }

  #counters(on: SearchEvent): SearchCounters {
    const call =
      (method: string) =>
      (...args: readonly unknown[]): void =>
        this.#call({ on, method, args })
    return {
      add: (asked: object, agent: unknown) =>
        this.#call({ on, method: 'add', args: [asked, agent], sent: sentFields(asked) }),
      addFacetSearch: call('addFacetSearch'),
      refused: call('refused'),
      succeeded: call('succeeded'),
      failed: call('failed'),
    } as unknown as SearchCounters
  }

  #call(call: UsageCall): void {
    this.#usage.push(call)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#lines.length + this.#queries.length + this.#usage.length >= OUTBOX_ENTRIES_MAX) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), OUTBOX_MS)
  }
}

/** Counts in the main thread what threads have sent. */
export function replayUsage(usage: Usage, { on, method, args, sent }: UsageCall): void {
  const target = on === 'usage' ? usage : usage.searches(on)
  const call = (target as unknown as Record<string, (...args: readonly unknown[]) => void>)[method]!
  const [asked, ...rest] = args
  call.apply(target, sent === undefined ? [...args] : [asWasSent(asked as Asked, sent), ...rest])
}

interface Asked {
  readonly hybrid?: object | null
}

/** The record of sent fields is lost between threads, so it travels as names. */
const sentFields = (asked: Asked): SentFields => ({
  search: Object.keys(asked).filter((name) => wasSent(asked, name)),
  hybrid: asked.hybrid ? Object.keys(asked.hybrid).filter((name) => wasSent(asked.hybrid!, name)) : [],
})

function asWasSent(asked: Asked, { search, hybrid }: SentFields): object {
  return withSent({ ...asked, ...(asked.hybrid && { hybrid: withSent(asked.hybrid, hybrid) }) }, search)
}
