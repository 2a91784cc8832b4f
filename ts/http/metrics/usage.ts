import type { FastifyRequest } from 'fastify'
import type { SearchFacts } from '../../engine/index.js'
import {
  type CountedSearch,
  type Facts,
  mentions,
  type SearchCounters,
  type SearchEvent,
  type UsageEvent,
} from '../../telemetry/index.js'
import type { Services } from '../services.js'
import type { Metrics } from './metrics.js'

/** Counts a request, with the client named in its headers. */
export function recordUse<E extends UsageEvent>(
  { usage }: Pick<Services, 'usage'>,
  request: FastifyRequest,
  event: E,
  facts: Facts<E>,
): void {
  if (usage.isOpen) usage.record(event, facts, agentOf(request))
}

/**
 * Returns the client named in the headers. Clients in browsers cannot set the user agent, so they send their own
 * header.
 */
function agentOf({ headers }: FastifyRequest): string | undefined {
  const agent = headers['x-meilisearch-client'] ?? headers['user-agent']
  return typeof agent === 'object' ? agent.join(';') : agent
}

/** Returns true if a filter of documents reads their vectors. */
export const onVectors = (filter: CountedSearch['filter'] | null): boolean =>
  typeof filter === 'string' || Array.isArray(filter) ? mentions(filter, '_vectors') : false

type Observed = Pick<Services, 'usage'> & { readonly metrics: Metrics }
type Answered = (facts: SearchFacts) => void
type AnswerFacts = Pick<SearchFacts, 'degraded' | 'usedNegativeOperator' | 'terms'>

/** Used when the engine reports no facts about an answer. */
const noFacts: AnswerFacts = { degraded: false, usedNegativeOperator: false, terms: 0 }

/**
 * Runs a search and counts it, whether it succeeds or fails.
 * @param search receives a function to report the engine's facts about its answer
 * @param more counts details of this kind of search
 */
export function observedSearch<T>(
  services: Observed,
  request: FastifyRequest,
  event: SearchEvent,
  asked: CountedSearch,
  search: (answered: Answered) => Promise<T>,
  more?: (counters: SearchCounters) => void,
): Promise<T> {
  return observed(services, search, (facts, ms) => {
    const counters = services.usage.searches(event)
    counters.add(asked, agentOf(request))
    more?.(counters)
    if (facts === null) counters.failed()
    else counters.succeeded(facts, ms)
  })
}

/** Counts a search that was refused before its parameters were known. */
export function refusedSearch(
  { usage }: Pick<Services, 'usage'>,
  request: FastifyRequest,
  event: SearchEvent,
): void {
  if (usage.isOpen) usage.searches(event).refused(agentOf(request))
}

/**
 * Like `observedSearch`, for searches that are counted differently.
 * @param count called when the search has ended, if usage is counted; null: it failed
 */
export async function observed<T>(
  services: Observed,
  search: (answered: Answered) => Promise<T>,
  count: (facts: AnswerFacts | null, ms: number) => void,
): Promise<T> {
  const { isOpen } = services.usage
  const start = isOpen ? performance.now() : 0
  let facts = noFacts
  try {
    const result = await search((reported) => {
      facts = reported
    })
    if (facts.degraded) services.metrics.countDegraded()
    if (isOpen) count(facts, performance.now() - start)
    return result
  } catch (error) {
    if (isOpen) count(null, 0)
    throw error
  }
}

/** Facts about the filters of a task list; undefined: the request does not have this filter. */
export function taskFacts(filters: Readonly<Record<TaskFilterName, unknown>>): Facts<'tasksSeen'> {
  const by = (name: TaskFilterName): boolean => filters[name] !== undefined
  return {
    // `*` stands for all tasks and is null here.
    per_task_uid: Array.isArray(filters.uids),
    filtered_by_uid: by('uids'),
    filtered_by_index_uid: by('indexUids'),
    filtered_by_type: by('types'),
    filtered_by_status: by('statuses'),
    filtered_by_canceled_by: by('canceledBy'),
    filtered_by_before_enqueued_at: by('beforeEnqueuedAt'),
    filtered_by_after_enqueued_at: by('afterEnqueuedAt'),
    filtered_by_before_started_at: by('beforeStartedAt'),
    filtered_by_after_started_at: by('afterStartedAt'),
    filtered_by_before_finished_at: by('beforeFinishedAt'),
    filtered_by_after_finished_at: by('afterFinishedAt'),
  }
}
type TaskFilterName =
  | 'uids'
  | 'indexUids'
  | 'types'
  | 'statuses'
  | 'canceledBy'
  | 'beforeEnqueuedAt'
  | 'afterEnqueuedAt'
  | 'beforeStartedAt'
  | 'afterStartedAt'
  | 'beforeFinishedAt'
  | 'afterFinishedAt'
