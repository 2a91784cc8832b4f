/** Filters for lists and streams of tasks and batches. */
import type { ErrorCode } from '../../errors/index.js'
import {
  boolean,
  dateBound,
  defaulted,
  type Field,
  indexUid,
  oneOf,
  starred,
  type Type,
  u32,
  type Values,
} from '../../operations/index.js'
import { type TaskFilter, taskStatuses, taskTypes } from '../../tasks/index.js'

/** A filter for lists. Its value is undefined if it was not sent, and null for `*`. */
function filterBy<T>(type: Type<T>, code: ErrorCode): Field<T | undefined> {
  return { type, code, absent: { kind: 'value', value: undefined } }
}

export const filters = {
  batchUids: filterBy(starred(u32), 'invalid_batch_uids'),
  uids: filterBy(starred(u32), 'invalid_task_uids'),
  canceledBy: filterBy(starred(u32), 'invalid_task_canceled_by'),
  types: filterBy(starred(oneOf(taskTypes, true)), 'invalid_task_types'),
  statuses: filterBy(starred(oneOf(taskStatuses, true)), 'invalid_task_statuses'),
  indexUids: filterBy(starred(indexUid), 'invalid_index_uid'),
  afterEnqueuedAt: filterBy(dateBound('after'), 'invalid_task_after_enqueued_at'),
  beforeEnqueuedAt: filterBy(dateBound('before'), 'invalid_task_before_enqueued_at'),
  afterStartedAt: filterBy(dateBound('after'), 'invalid_task_after_started_at'),
  beforeStartedAt: filterBy(dateBound('before'), 'invalid_task_before_started_at'),
  afterFinishedAt: filterBy(dateBound('after'), 'invalid_task_after_finished_at'),
  beforeFinishedAt: filterBy(dateBound('before'), 'invalid_task_before_finished_at'),
}
export const listParameters = {
  limit: defaulted(u32, 20, 'invalid_task_limit'),
  from: defaulted<number | null>(u32, null, 'invalid_task_from'),
  reverse: defaulted(boolean, false, 'invalid_task_reverse'),
  ...filters,
}

/** Returns the filter of a request. @param visibleIndexes indexes that its key may see */
export function taskFilter(
  wanted: Values<typeof filters>,
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
