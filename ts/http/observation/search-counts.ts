import type { SearchFacts } from '../../engine/index.js'
import type { CountedSearch, SearchCounters, SearchEvent, Usage } from '../../telemetry/index.js'

export type AnswerFacts = Pick<SearchFacts, 'degraded' | 'usedNegativeOperator' | 'terms'>

/** The end of a counted search. */
interface CountedEnd {
  readonly ms: number
  /** The header that names the client. */
  readonly agent: string | undefined
}

/** Counts the searches of a route for the usage reports. */
export interface SearchCount<W> {
  /** Counts a search whose parameters are not valid. */
  refused(agent: string | undefined): void
  /** @param facts null: the search failed */
  ended(wanted: W, facts: AnswerFacts | null, end: CountedEnd): void
}

/** @param more counts details of this kind of search */
export function searchCount<W extends CountedSearch>(
  usage: Usage,
  event: SearchEvent,
  more?: (counters: SearchCounters, wanted: W) => void,
): SearchCount<W> {
  return {
    refused: (agent) => usage.searches(event).refused(agent),
    ended(wanted, facts, { ms, agent }) {
      const counters = usage.searches(event)
      counters.add(wanted, agent)
      more?.(counters, wanted)
      if (facts === null) counters.failed()
      else counters.succeeded(facts, ms)
    },
  }
}
