import type { FastifyRequest } from 'fastify'
import { type CountedSearch, type Facts, mentions, type UsageEvent } from '../../telemetry/index.js'
import type { Services } from '../services.js'

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
export function agentOf({ headers }: FastifyRequest): string | undefined {
  const agent = headers['x-meilisearch-client'] ?? headers['user-agent']
  return typeof agent === 'object' ? agent.join(';') : agent
}

/** Returns true if a filter of documents reads their vectors. */
export const onVectors = (filter: CountedSearch['filter'] | null): boolean =>
  typeof filter === 'string' || Array.isArray(filter) ? mentions(filter, '_vectors') : false

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
