import type { RecordedError } from '../../errors/index.js'
import { JsonText } from '../../parse/index.js'
import { JOINED_FILTERS_CHARS_MAX, PARSED_DETAILS_CHARS_MAX } from '../limits.js'
import type { BatchRow, TaskRow } from '../store/records.js'
import type { BatchView, Task, TaskSummary, TaskType } from '../task.js'
import { formatDate, formatDuration, type Micros } from '../time.js'

const dateOrNull = (at: Micros | null) => (at === null ? null : formatDate(at))

const span = (from: Micros | null, to: Micros | null) =>
  from === null || to === null ? null : formatDuration(to - from)

/** Converts a stored task to the API's format. Long details stay text. */
export function taskView(row: TaskRow): Task {
  const details = shownDetails(row.details)
  return {
    uid: row.uid,
    batchUid: row.batchUid,
    indexUid: row.indexUid,
    status: row.status,
    type: row.type,
    canceledBy: row.canceledBy,
    ...(details === null ? {} : { details }),
    error: row.error === null ? null : (JSON.parse(row.error) as RecordedError),
    duration: span(row.startedAt, row.finishedAt),
    enqueuedAt: formatDate(row.enqueuedAt),
    startedAt: dateOrNull(row.startedAt),
    finishedAt: dateOrNull(row.finishedAt),
    ...(row.customMetadata === null ? {} : { customMetadata: row.customMetadata }),
  }
}

/** Builds the answer to an accepted write. */
export function taskSummary(task: {
  readonly uid: number
  readonly indexUid: string | null
  readonly type: TaskType
  readonly enqueuedAt: Micros
  readonly customMetadata: string | null
}): TaskSummary {
  return {
    taskUid: task.uid,
    indexUid: task.indexUid,
    status: 'enqueued',
    type: task.type,
    enqueuedAt: formatDate(task.enqueuedAt),
    ...(task.customMetadata === null ? {} : { customMetadata: task.customMetadata }),
  }
}

/**
 * Converts a stored batch to the API's format. Long details stay text.
 * @param progress of a running batch, else null
 */
export function batchView(row: BatchRow, progress: unknown): BatchView {
  return {
    uid: row.uid,
    progress: row.finishedAt === null ? progress : null,
    details: shownDetails(row.details) ?? {},
    stats: JSON.parse(row.stats) as Record<string, unknown>,
    duration: span(row.startedAt, row.finishedAt),
    startedAt: formatDate(row.startedAt),
    finishedAt: dateOrNull(row.finishedAt),
    batchStrategy: row.strategy,
  }
}

/** Returns `details` of a row for an answer, parsed unless they are long. */
const shownDetails = (details: string | null): Readonly<Record<string, unknown>> | null =>
  details !== null && details.length > PARSED_DETAILS_CHARS_MAX
    ? new JsonText(details)
    : parsedDetails(details)

/** Parses `details` of a row. */
export function parsedDetails(details: string | null): Readonly<Record<string, unknown>> | null {
  return details === null ? null : (JSON.parse(details) as Record<string, unknown>)
}

/** The parts of a task that its batch displays. */
interface Member {
  readonly status: string
  readonly type: TaskType
  readonly indexUid: string | null
  readonly details: Readonly<Record<string, unknown>> | null
}

const counters = new Set([
  'receivedDocuments',
  'indexedDocuments',
  'editedDocuments',
  'providedIds',
  'deletedDocuments',
  'matchedTasks',
  'canceledTasks',
  'deletedTasks',
])

/**
 * Merges the details of many tasks: counters are summed, settings merged, filters joined with `&`, swaps appended.
 * Other members keep their first value. A member that is null in all tasks is left out, except for counters, because
 * they are unknown until the batch ends, and settings, where null is a value. Filters that would make the joined text
 * longer than `JOINED_FILTERS_CHARS_MAX` are replaced by one `…`.
 */
export function mergedDetails(members: readonly Member[]): Readonly<Record<string, unknown>> {
  const merged: Record<string, unknown> = {}
  for (const { type, details } of members) {
    for (const [key, value] of Object.entries(details ?? {})) {
      const known = merged[key]
      if (type === 'settingsUpdate') {
        merged[key] = isObject(known) && isObject(value) ? { ...known, ...value } : value
      } else if (counters.has(key)) {
        merged[key] =
          typeof value === 'number' ? value + (typeof known === 'number' ? known : 0) : (known ?? null)
      } else if (value === null) {
        // Only counters and settings can be null.
      } else if (key === 'originalFilter') {
        merged[key] = joinedFilters(known, value)
      } else if (key === 'swaps' && Array.isArray(value)) {
        merged[key] = [...(Array.isArray(known) ? known : []), ...value]
      } else {
        merged[key] ??= value
      }
    }
  }
  return merged
}

/** End of joined filters that do not have all filters. */
const FILTERS_OMITTED = '&…'

function joinedFilters(known: unknown, filter: unknown): unknown {
  if (known === undefined) return filter
  const [first, next] = [String(known), String(filter)]
  if (first.endsWith(FILTERS_OMITTED)) return first
  return first.length + next.length < JOINED_FILTERS_CHARS_MAX
    ? `${first}&${next}`
    : `${first}${FILTERS_OMITTED}`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * `mergedDetails` of rows, as text. A batch with a single settings task has the details of that task. They can be
 * megabytes and need not be parsed.
 */
export function mergedDetailsText(rows: readonly TaskRow[]): string {
  const [only] = rows
  if (rows.length === 1 && only?.type === 'settingsUpdate' && only.details !== null) return only.details
  return JSON.stringify(mergedDetails(rows.map((row) => ({ ...row, details: parsedDetails(row.details) }))))
}

/**
 * Reduces a batch to the tasks visible to an API key. The batch of a cancelation can have tasks of many indexes.
 * @param details merged from the tasks that the key may see
 */
export function partOfBatch(
  row: BatchRow,
  visible: readonly Omit<Member, 'details'>[],
  details: string,
): BatchRow {
  const stats = { ...(JSON.parse(row.stats) as object), ...batchStats(visible) }
  return { ...row, details, stats: JSON.stringify(stats) }
}

/** True if `isVisible` admits the indexes of all tasks of a batch. Tasks without an index are not visible either. */
export function isAllVisible({ stats }: BatchRow, isVisible: (indexUid: string) => boolean): boolean {
  const { totalNbTasks, indexUids } = JSON.parse(stats) as {
    readonly totalNbTasks: number
    readonly indexUids: Readonly<Record<string, number>>
  }
  const visible = Object.entries(indexUids).filter(([uid]) => isVisible(uid))
  return visible.reduce((sum, [, tasks]) => sum + tasks, 0) === totalNbTasks
}

/** Requests of a batch to embedders. Each attempt counts. */
export interface EmbedderCounts {
  total: number
  failed: number
  lastError: string | null
}

/** Facts that a batch displays in addition to its tasks. Empty members are left out. */
export interface BatchNotes {
  /** Name of a step → its duration. */
  readonly trace?: Readonly<Record<string, string>>
  /** Part of the index → its size on disk and the difference. */
  readonly sizes?: Readonly<Record<string, string>>
  readonly requests?: Readonly<EmbedderCounts>
}

const noRequests: Readonly<EmbedderCounts> = { total: 0, failed: 0, lastError: null }

export function batchStats(
  members: readonly Omit<Member, 'details'>[],
  { trace = {}, sizes = {}, requests: { total, failed, lastError } = noRequests }: BatchNotes = {},
): Readonly<Record<string, unknown>> {
  const count = (names: readonly (string | null)[]) => {
    const counts = new Map<string, number>()
    for (const name of names) if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1)
    return Object.fromEntries(counts)
  }
  return {
    totalNbTasks: members.length,
    status: count(members.map((member) => member.status)),
    types: count(members.map((member) => member.type)),
    indexUids: count(members.map((member) => member.indexUid)),
    ...(Object.keys(trace).length === 0 ? {} : { progressTrace: trace }),
    ...(Object.keys(sizes).length === 0 ? {} : { internalDatabaseSizes: sizes }),
    ...(total === 0 ? {} : { embedderRequests: { total, failed, ...(lastError !== null && { lastError }) } }),
  }
}
