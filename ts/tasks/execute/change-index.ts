import { randomUUID } from 'node:crypto'
import type { BatchReport, Operation } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import { completeSettings } from '../../settings/index.js'
import { BATCHED_SETTINGS_CHARS_MAX } from '../limits.js'
import { parsedDetails } from '../listing/view.js'
import type { CatalogueRow, PendingTask } from '../store/records.js'
import { type BatchContext, Interrupted, type Outcome, type Run } from './batch-context.js'
import { announce, commitOf } from './commit.js'
import {
  effects,
  failed,
  failureBody,
  indexOf,
  notFound,
  outcomeIn,
  type Unfinished,
  withoutCleared,
} from './outcomes.js'

/** Commits documents, deletions and settings of one index at once. */
export async function changeIndex(
  tasks: readonly PendingTask[],
  run: Run,
  context: BatchContext,
): Promise<Unfinished> {
  const { catalogue, engine, log } = context
  const uid = indexOf(tasks[0])
  const row = catalogue.row(uid)
  const plan = await planOf(tasks, row, run, context)
  if (row === null && !plan.creates) return effects({ outcomes: plan.decided })
  // Attributes the creation to a task that may create the index. Tasks before it have failed without the index.
  const asking = (tasks.find(mayCreate) ?? tasks[0])?.row.uid ?? 0
  const creation: Operation = { taskUid: asking, kind: 'primaryKey', primaryKey: null }
  const operations = row === null && plan.operations.length === 0 ? [creation] : plan.operations
  let id = row?.id ?? randomUUID()
  const dropped: string[] = []

  // Tasks without an operation and without an outcome wait for the next batch.
  const undecided = new Set(plan.operations.map(({ taskUid }) => taskUid))
  const running = tasks.filter((task) => undecided.has(task.row.uid))
  let report: BatchReport | null = null
  let outcomes = plan.decided
  if (row === null) await announce(id, context)
  try {
    if (operations.length > 0) report = await commitOf(id, uid, operations, run, context)
    outcomes = [...outcomes, ...running.map((task) => outcomeIn(report, task))]
  } catch (error) {
    if (error instanceof Interrupted) {
      // The index is not in the catalogue, so its directory can be removed.
      if (row === null)
        run.leave(
          id,
          run.released(id).then(() => engine.drop(id)),
        )
      throw error
    }
    const body = failureBody(error, log, run.batchUid)
    outcomes = [...outcomes, ...running.map((task) => failed(task, body))]
    // A task that may create the index does so even if it fails. The index is then empty.
    if (row === null) report = await createdEmpty()
  }
  outcomes = withoutCleared([...outcomes].sort((a, b) => a.task.row.uid - b.task.row.uid))
  const finishedAt = context.clock.now()
  if (row === null) {
    if (report === null) return effects({ finishedAt, outcomes, dropped: [...dropped, id] })
    const { primaryKey } = report
    const dates = { createdAt: run.startedAt, updatedAt: finishedAt }
    const written = [{ uid, id, primaryKey, ...dates, lastBatch: report.batchUid }]
    return effects({ finishedAt, outcomes, written, dropped })
  }
  if (report === null) return effects({ finishedAt, outcomes })
  const touched = report.outcomes.some((outcome) => outcome.touched && outcome.error === undefined)
  const updatedAt = touched ? finishedAt : row.updatedAt
  const { primaryKey, batchUid: lastBatch } = report
  return effects({ finishedAt, outcomes, written: [{ ...row, primaryKey, updatedAt, lastBatch }] })

  async function createdEmpty(): Promise<BatchReport | null> {
    // Uses a new directory: a failing disk may have stored the failed commit, with the same uid, in the first one.
    dropped.push(id)
    id = randomUUID()
    await announce(id, context)
    try {
      return await commitOf(id, uid, [creation], run, context)
    } catch (error) {
      if (error instanceof Interrupted) throw error
      log.warn({ err: error, indexUid: uid }, 'an index could not be created')
      return null
    }
  }
}

/** Returns true if a task creates its index when it does not exist. */
export function mayCreate({ content }: PendingTask): boolean {
  return (content.kind === 'documents' || content.kind === 'settings') && content.mayCreateIndex
}

/** Operations for the engine, and tasks that already failed. Other tasks of the batch wait for the next batch. */
interface Plan {
  readonly operations: readonly Operation[]
  /** Tasks that failed before the engine is called. */
  readonly decided: readonly Outcome[]
  /** True if a task may create the index. */
  readonly creates: boolean
}

async function planOf(
  tasks: readonly PendingTask[],
  row: CatalogueRow | null,
  { signal, requests, step }: Run,
  { engine, spool, embedders, rerankers, log, settingsThread }: BatchContext,
): Promise<Plan> {
  const operations: Operation[] = []
  const decided: Outcome[] = []
  let exists = row !== null
  let settings: string | null = null
  let settingsChars = 0
  // Later settings include earlier ones, so they must not share a batch with settings that documents may reject.
  let isRisky = false
  for (const task of tasks) {
    const { content } = task
    const taskUid = task.row.uid
    if (!exists && !mayCreate(task)) {
      decided.push(failed(task, notFound(task.row.indexUid)))
      continue
    }
    exists = true
    switch (content.kind) {
      case 'documents': {
        const { method, primaryKey, skipCreation } = content
        const { payload: stored } = content
        try {
          await spool.check(stored, content.payloadBytes)
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          log.error({ taskUid, reason: error.message }, 'an accepted upload is damaged')
          decided.push(failed(task, error.toJSON()))
          break
        }
        const payload = 'text' in stored ? stored : { ...stored, path: spool.pathOf(stored.path) }
        const documents = receivedDocuments(task)
        operations.push({ taskUid, kind: 'documents', method, primaryKey, skipCreation, payload, documents })
        break
      }
      case 'deleteByIds':
        operations.push({ taskUid, kind: 'deleteByIds', ids: content.ids })
        break
      case 'deleteByFilter':
        operations.push({ taskUid, kind: 'deleteByFilter', filter: content.filter })
        break
      case 'clear':
        operations.push({ taskUid, kind: 'clear' })
        break
      case 'settings': {
        if (isRisky || settingsChars > BATCHED_SETTINGS_CHARS_MAX) return plan()
        try {
          if (settings === null && row !== null) settings = await engine.settings(row.id)
          const merged = await settingsThread.merge(settings, content.patch)
          const { changedLocalRerankers } = merged
          if (Object.keys({ ...merged.embedders, ...changedLocalRerankers }).length > 0) step('preparing')
          await rerankers.requireModels(changedLocalRerankers, signal)
          const named = await embedders.settled(merged.embeddersBefore, merged.embedders, {
            signal,
            counts: requests,
          })
          settings = completeSettings(merged, named)
          settingsChars += settings.length
          const { reanalyses = false } = content
          operations.push({ taskUid, kind: 'settings', settings, remakes: merged.remakes, reanalyses })
          isRisky = merged.mayConflictWithDocuments
        } catch (error) {
          if (signal.aborted) throw new Interrupted()
          if (!(error instanceof ApiError)) throw error
          decided.push(failed(task, error.toJSON()))
        }
        break
      }
      default:
        throw new TypeError(`task ${taskUid} of kind ${content.kind} cannot share a commit`)
    }
  }
  return plan()

  function plan(): Plan {
    return { operations, decided, creates: tasks.some(mayCreate) }
  }
}

/** Number of documents counted when the upload arrived. */
function receivedDocuments({ row }: PendingTask): number {
  const received = parsedDetails(row.details)?.receivedDocuments
  return typeof received === 'number' ? received : 0
}
