/** Filters for lists and streams of tasks and batches, and for tasks to cancel or delete. */
import { ApiError } from '../../errors/index.js'
import { type TaskFilter, taskStatuses, taskTypes } from '../../tasks/index.js'
import {
  boolean,
  dateBound,
  defaulted,
  indexUid,
  oneOf,
  optional,
  setting,
  starred,
  u32,
  type Values,
} from './parse/index.js'

/** Each filter is undefined if it was not sent, and null for `*` or null. */
export const taskFilters = {
  batchUids: setting(starred(u32), 'invalid_batch_uids'),
  uids: setting(starred(u32), 'invalid_task_uids'),
  canceledBy: setting(starred(u32), 'invalid_task_canceled_by'),
  types: setting(starred(oneOf(taskTypes, true)), 'invalid_task_types'),
  statuses: setting(starred(oneOf(taskStatuses, true)), 'invalid_task_statuses'),
  indexUids: setting(starred(indexUid), 'invalid_index_uid'),
  afterEnqueuedAt: setting(dateBound('after'), 'invalid_task_after_enqueued_at'),
  beforeEnqueuedAt: setting(dateBound('before'), 'invalid_task_before_enqueued_at'),
  afterStartedAt: setting(dateBound('after'), 'invalid_task_after_started_at'),
  beforeStartedAt: setting(dateBound('before'), 'invalid_task_before_started_at'),
  afterFinishedAt: setting(dateBound('after'), 'invalid_task_after_finished_at'),
  beforeFinishedAt: setting(dateBound('before'), 'invalid_task_before_finished_at'),
}
export const taskListFields = {
  limit: defaulted(u32, 20, 'invalid_task_limit'),
  from: optional(u32, 'invalid_task_from'),
  reverse: defaulted(boolean, false, 'invalid_task_reverse'),
  ...taskFilters,
}

/** Returns the filter of a request. @param visibleIndexes indexes that its key may see */
export function taskFilter(
  wanted: Values<typeof taskFilters>,
  visibleIndexes: readonly string[] | null,
): TaskFilter {
  return {
    uids: wanted.uids ?? null,
    batchUids: wanted.batchUids ?? null,
    canceledBy: wanted.canceledBy ?? null,
    types: wanted.types ?? null,
    statuses: wanted.statuses ?? null,
    indexUids: wanted.indexUids ?? null,
    beforeEnqueuedAt: wanted.beforeEnqueuedAt ?? null,
    afterEnqueuedAt: wanted.afterEnqueuedAt ?? null,
    beforeStartedAt: wanted.beforeStartedAt ?? null,
    afterStartedAt: wanted.afterStartedAt ?? null,
    beforeFinishedAt: wanted.beforeFinishedAt ?? null,
    afterFinishedAt: wanted.afterFinishedAt ?? null,
    visibleIndexes,
  }
}

/**
 * Checks that a request to cancel or delete tasks says which.
 * @param all how to match all tasks, for the message
 * @throws ApiError `missing_task_filters`
 */
export function requireTaskFilter(wanted: Readonly<Record<string, unknown>>, all: string): void {
  if (Object.values(wanted).some((value) => value !== undefined)) return
  const names = Object.keys(taskFilters).map((name) => `\`${name}\``)
  throw new ApiError(
    'missing_task_filters',
    `at least one filter must be given, of: ${names.join(', ')}; ${all}`,
  )
}
