/** Builds the outcomes of tasks and the effects of batches. */
import type { BatchReport } from '../../engine/index.js'
import { ApiError, type ErrorBody, errorBody, toErrorBody } from '../../errors/index.js'
import { isDiskFull } from '../../sqlite/index.js'
import type { Counters } from '../listing/details.js'
import { noSpace } from '../spool.js'
import type { PendingTask } from '../store/records.js'
import type { Micros } from '../time.js'
import type { Effects, Outcome, TaskLog } from './batch-context.js'

/** The effects of a batch. `finishedAt` null: the batch ends when its effects are complete. */
export type Unfinished = Omit<Effects, 'finishedAt'> & { readonly finishedAt: Micros | null }

export const effects = (some: Partial<Effects>): Unfinished => ({
  finishedAt: null,
  outcomes: [],
  written: [],
  removed: [],
  relabels: [],
  deletedTasks: [],
  dropped: [],
  ...some,
})

export const succeeded = (task: PendingTask, counters: Counters = {}): Outcome => ({
  task,
  status: 'succeeded',
  error: null,
  counters,
  canceledBy: null,
  newIndexUid: null,
})

export const failed = (task: PendingTask, error: ErrorBody): Outcome => ({
  task,
  status: 'failed',
  error,
  counters: null,
  canceledBy: null,
  newIndexUid: null,
})

const quoted = (uids: readonly (string | null)[]) => uids.map((uid) => `\`${uid}\``).join(', ')

export const notFound = (...uids: readonly (string | null)[]) =>
  uids.length === 1
    ? errorBody('index_not_found', `Index ${quoted(uids)} not found.`)
    : errorBody('index_not_found', `Indexes ${quoted(uids.toSorted())} not found.`)

export const alreadyExists = (uid: string | null) =>
  errorBody('index_already_exists', `Index ${quoted([uid])} already exists.`)

/** Returns the error for a task: an unchanged `ApiError`, `no_space_left_on_device` for a full disk, else `internal`. */
export function failureBody(error: unknown, log: TaskLog, batchUid: number): ErrorBody {
  if (isDiskFull(error)) {
    log.error({ err: error, batchUid }, 'no space left on the device')
    return noSpace('the changes of this batch').toJSON()
  }
  if (!(error instanceof ApiError)) log.error({ err: error, batchUid }, 'a batch failed unexpectedly')
  return toErrorBody(error)
}

export function outcomeIn(report: BatchReport | null, task: PendingTask): Outcome {
  const outcome = report?.outcomes.find(({ taskUid }) => taskUid === task.row.uid)
  if (outcome === undefined) throw new TypeError(`the engine reported nothing about task ${task.row.uid}`)
  if (outcome.error !== undefined) return failed(task, errorBody(outcome.error.code, outcome.error.message))
  return succeeded(task, countersOf(outcome))
}

/** Sets an addition to 0 indexed documents if a deletion of all documents follows it in the batch. */
export function withoutCleared(outcomes: readonly Outcome[]): readonly Outcome[] {
  const lastClear =
    outcomes.findLast(({ task, status }) => task.content.kind === 'clear' && status === 'succeeded')?.task.row
      .uid ?? -1
  return outcomes.map((outcome) =>
    outcome.counters?.indexedDocuments !== undefined && outcome.task.row.uid < lastClear
      ? { ...outcome, counters: { ...outcome.counters, indexedDocuments: 0 } }
      : outcome,
  )
}

/** Returns the counters of an engine report that tasks display. */
export function countersOf(outcome: BatchReport['outcomes'][number]): Counters {
  const { indexedDocuments, editedDocuments, deletedDocuments } = outcome
  return {
    // The API reports the number of documents passed to a script under both names.
    ...(editedDocuments === undefined ? {} : { editedDocuments, deletedDocuments: editedDocuments }),
    ...(indexedDocuments === undefined ? {} : { indexedDocuments }),
    ...(deletedDocuments === undefined ? {} : { deletedDocuments }),
  }
}

export function indexOf(task: PendingTask | undefined): string {
  if (task === undefined || task.row.indexUid === null) throw new TypeError('the task names no index')
  return task.row.indexUid
}

export function contentOf<K extends PendingTask['content']['kind']>(
  task: PendingTask,
  kind: K,
): Extract<PendingTask['content'], { kind: K }> {
  if (task.content.kind !== kind)
    throw new TypeError(`task ${task.row.uid} is ${task.content.kind}, not ${kind}`)
  return task.content as Extract<PendingTask['content'], { kind: K }>
}

/** Lists the damaged indexes. @param leftOut uid of an index → its damage */
export const damagedDetails = (leftOut: ReadonlyMap<string, string>): Counters =>
  leftOut.size === 0 ? {} : { damagedIndexes: Object.fromEntries(leftOut) }
