import { type Facts, type SearchEvent, searchEvents, type UsageEvent, usageEvents } from './events.js'
import { SearchCounters } from './search-counters.js'
import { type Figure, type Tally, tallies } from './tallies.js'
import { Agents } from './words.js'

/** The requests of one kind since the last report. */
export interface UsageReport {
  /** The published name of the event. */
  readonly name: string
  /** Number of requests. */
  readonly count: number
  /** Time of the first request, in milliseconds since 1970. */
  readonly firstAt: number
  /** A figure for every metric of the event, by published name. */
  readonly figures: Readonly<Record<string, Figure>>
}

/** Counts the use of the service in memory. Sends nothing. */
export interface Usage {
  /** True if anything is counted. If false, a search need not read the clock. */
  readonly isOpen: boolean
  /** Returns the counters for a kind of search. */
  searches(event: SearchEvent): SearchCounters
  /** @param agent the header that names the client */
  record<E extends UsageEvent>(event: E, facts: Facts<E>, agent: string | undefined): void
  /** Adds facts about a request that was already recorded, such as the outcome of its task. */
  observe<E extends UsageEvent>(event: E, facts: Facts<E>): void
  /** True if there is nothing to report. */
  readonly isEmpty: boolean
  /** Approximate size of a report now. */
  bytes(): number
  /** Returns the requests since the last report, and starts again from zero. */
  report(): readonly UsageReport[]
}

/** Counts nothing, for instances without reports. */
export const closedUsage: Usage = {
  isOpen: false,
  isEmpty: true,
  searches: () => new SearchCounters(),
  record: () => undefined,
  observe: () => undefined,
  bytes: () => 0,
  report: () => [],
}

interface Event {
  count: number
  readonly firstAt: number
  readonly agents: Agents
  readonly tallies: ReadonlyMap<string, Tally>
}

/** Opens a counter. Its memory is bounded, whatever clients send. */
export function openUsage(): Usage {
  let events = new Map<UsageEvent, Event>()
  let searches = new Map<SearchEvent, SearchCounters>()
  const reports = (): readonly UsageReport[] => [
    ...[...searches].map(([event, counters]) => searchReport(event, counters)),
    ...[...events].map(([event, known]) => eventReport(event, known)),
  ]
  const observed = (event: UsageEvent, facts: object): Event => {
    let known = events.get(event)
    if (known === undefined) {
      known = emptyEvent(event)
      events.set(event, known)
    }
    for (const [name, fact] of Object.entries(facts)) {
      if (fact !== undefined) known.tallies.get(name)?.add(fact)
    }
    return known
  }
  return {
    isOpen: true,
    get isEmpty() {
      return events.size === 0 && searches.size === 0
    },
    searches(event) {
      let counters = searches.get(event)
      if (counters === undefined) {
        counters = new SearchCounters()
        searches.set(event, counters)
      }
      return counters
    },
    record(event, facts, agent) {
      const known = observed(event, facts)
      known.count += 1
      known.agents.add(agent)
    },
    observe: (event, facts) => void observed(event, facts),
    bytes: () => Buffer.byteLength(JSON.stringify(reports())),
    report() {
      const all = reports()
      events = new Map()
      searches = new Map()
      return all
    },
  }
}

function emptyEvent(event: UsageEvent): Event {
  const metrics = Object.entries(usageEvents[event].metrics).map(
    ([name, kind]) => [name, tallies[kind]()] as const,
  )
  return { count: 0, firstAt: Date.now(), agents: new Agents(), tallies: new Map(metrics) }
}

function searchReport(event: SearchEvent, counters: SearchCounters): UsageReport {
  const { name, omits } = searchEvents[event]
  const figures = Object.entries(counters.figures()).filter(
    ([metric]) => !omits.some((start) => metric.startsWith(start)),
  )
  return { name, count: counters.received, firstAt: counters.firstAt, figures: Object.fromEntries(figures) }
}

function eventReport(event: UsageEvent, { count, firstAt, agents, tallies: known }: Event): UsageReport {
  const figures = [...known].map(([name, tally]) => [name, tally.figure()] as const)
  return {
    name: usageEvents[event].name,
    count,
    firstAt,
    figures: { user_agent: agents.sorted(), ...Object.fromEntries(figures) },
  }
}
