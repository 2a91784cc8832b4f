import { type BatchReport, EngineError } from '../../engine/index.js'
import { errorBody } from '../../errors/index.js'
import { concluded } from '../conclusion.js'
import type { BatchContext, Effects, Outcome } from '../execute/batch-context.js'
import { countersOf, withoutCleared } from '../execute/outcomes.js'
import { updatedIndex } from '../execute/update-index.js'
import type { CatalogueRow, PendingTask, Start } from '../store/records.js'
import type { TaskContent } from '../task.js'
import type { Micros } from '../time.js'
import { expectCommits, unrecordedIn } from './expected-commits.js'
import { clearOrphans, type Quarantine } from './orphans.js'

/** Kinds of tasks whose outcome can be read from a commit of their index. Other tasks run again. */
const settledByCommit: ReadonlySet<TaskContent['kind']> = new Set([
  'documents',
  'deleteByIds',
  'deleteByFilter',
  'edit',
  'clear',
  'settings',
  'indexUpdate',
])

/** The services that recovery uses. */
export type RecoveryContext = Pick<BatchContext, 'engine' | 'store' | 'spool' | 'catalogue' | 'log' | 'clock'>

/** An index with waiting tasks cannot be read, so it is unknown which of them are done. */
export class UnreadableIndexError extends Error {
  override readonly name = 'UnreadableIndexError'

  constructor(uid: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`the index \`${uid}\`, which has waiting tasks, cannot be read: ${reason}`, { cause })
  }
}

/**
 * Makes queue, engine and spool consistent after the process ended at any point. Reverts failed commits that the disk
 * stored, records the outcomes of unrecorded commits, and clears orphans; see `clearOrphans`.
 * @returns the uid for the next batch
 * @throws UnreadableIndexError
 */
export async function recover(
  start: Start,
  context: RecoveryContext,
  quarantine: Quarantine,
): Promise<number> {
  const { engine, spool, catalogue, store, log } = context
  const isUnrecorded = unrecordedIn(start)
  for (const { index, batchUids } of start.failedCommits) await revertFailed(index, batchUids)
  // Must follow the revert of failed commits, which changes the newest commit of an index.
  expectCommits(engine, catalogue.rows(), isUnrecorded)
  const committed: { readonly row: CatalogueRow; readonly report: BatchReport }[] = []
  for (const row of catalogue.rows()) {
    const waiting = await store.call('waitingOf', [row.uid])
    if (waiting.length === 0) continue
    const report = await newestReport(row)
    if (report !== null && isUnrecorded(report.batchUid)) committed.push({ row, report })
  }
  // Records batches in the order of their uids. Otherwise a crash could leave a batch unrecorded below a recorded one.
  committed.sort((a, b) => a.report.batchUid - b.report.batchUid)
  for (const { row, report } of committed) await recordCommit(row, report, context)
  for (const { uid } of start.interrupted) await store.call('revert', [uid, []])

  await clearOrphans(start, { engine, store, spool, log, quarantine })
  return Math.max(start.nextBatchUid, ...committed.map(({ report }) => report.batchUid + 1))

  /** Reverts failed commits of an index. If that fails, the index counts as damaged. */
  async function revertFailed(index: string, batchUids: readonly number[]): Promise<void> {
    try {
      await engine.undo(index, batchUids)
    } catch (error) {
      log.error({ err: error, index, batchUids }, 'a failed commit could not be reverted')
      const reason = error instanceof Error ? error.message : String(error)
      engine.condemn(index, `it may contain a failed commit that cannot be reverted: ${reason}`)
      return
    }
    await store.call('undone', [index])
  }

  /** Returns null for an index without a commit, and for a damaged index, whose tasks fail when they run. */
  async function newestReport({ uid, id }: CatalogueRow): Promise<BatchReport | null> {
    try {
      return await engine.lastCommit(id)
    } catch (error) {
      if (!(error instanceof EngineError)) throw new UnreadableIndexError(uid, error)
      if (error.code !== 'index_damaged') throw error
      log.warn({ indexUid: uid, damage: engine.damage(id) }, 'an index with waiting tasks is damaged')
      return null
    }
  }
}

/** Records the effect of an unrecorded newest commit of an index on waiting tasks. */
export async function recordCommit(
  row: CatalogueRow,
  report: BatchReport,
  { catalogue, store, log, clock }: Pick<RecoveryContext, 'catalogue' | 'store' | 'log' | 'clock'>,
): Promise<void> {
  const waiting = await store.call('waitingOf', [row.uid])
  const last = Math.max(-1, ...report.outcomes.map(({ taskUid }) => taskUid))
  // Batches take the tasks of an index in order, so waiting tasks up to the last uid of the commit belong to it.
  const uids = waiting
    .filter(({ uid, kind }) => uid <= last && settledByCommit.has(kind))
    .map(({ uid }) => uid)
  const tasks = await store.call('pending', [uids])
  const now = clock.now()
  const done = recovered(row, report, tasks, now)
  if (done.outcomes.length === 0) return
  const batch = { uid: report.batchUid, startedAt: now, strategy: 'unspecified: recorded after a restart' }
  await store.call('conclude', [concluded(batch, done)], () => catalogue.apply(done.removed, done.written))
  log.info(
    { indexUid: row.uid, batchUid: report.batchUid, tasks: done.outcomes.length },
    'recorded the outcome of a batch that was committed just before the process ended',
  )
}

function recovered(
  row: CatalogueRow,
  report: BatchReport,
  tasks: readonly PendingTask[],
  finishedAt: Micros,
): Effects {
  const reported = new Set(report.outcomes.map(({ taskUid }) => taskUid))
  const lastClear = tasks.findLast(
    ({ row: { uid }, content }) => content.kind === 'clear' && reported.has(uid),
  )
  const outcomes = withoutCleared(
    tasks.flatMap((task) => outcomeOf(task, report, lastClear?.row.uid ?? null)),
  )
  // A task of this kind is always alone in its batch.
  const first = tasks.find((task) => task.row.uid === outcomes[0]?.task.row.uid)
  if (first?.content.kind === 'indexUpdate') return updatedIndex(first, row, report, finishedAt)
  const touched = report.outcomes.some((outcome) => outcome.touched && outcome.error === undefined)
  return {
    finishedAt,
    outcomes,
    written: [
      {
        ...row,
        primaryKey: report.primaryKey,
        updatedAt: touched ? finishedAt : row.updatedAt,
        lastBatch: report.batchUid,
      },
    ],
    removed: [],
    relabels: [],
    deletedTasks: [],
    dropped: [],
  }
}

/** @param lastClear uid of the last task of the batch that deleted all documents; null if none */
function outcomeOf(task: PendingTask, report: BatchReport, lastClear: number | null): Outcome[] {
  const { uid } = task.row
  const base = { task, canceledBy: null, newIndexUid: null }
  const outcome = report.outcomes.find(({ taskUid }) => taskUid === uid)
  if (outcome !== undefined) {
    const { error } = outcome
    return [
      error === undefined
        ? { ...base, status: 'succeeded', error: null, counters: countersOf(outcome) }
        : { ...base, status: 'failed', error: errorBody(error.code, error.message), counters: null },
    ]
  }
  // Earlier versions did not pass an addition before a deletion of all documents to the engine. Any other task missing
  // in the commit failed before it. It runs again and fails again.
  return task.content.kind === 'documents' && lastClear !== null && uid < lastClear
    ? [{ ...base, status: 'succeeded', error: null, counters: { indexedDocuments: 0 } }]
    : []
}
