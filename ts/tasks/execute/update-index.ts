/** Changes the primary key or the name of an index. */
import type { BatchReport } from '../../engine/index.js'
import type { CatalogueRow, PendingTask } from '../store/records.js'
import type { Micros } from '../time.js'
import type { BatchContext, Effects, Run } from './batch-context.js'
import { commitOf } from './commit.js'
import {
  alreadyExists,
  contentOf,
  effects,
  failed,
  indexOf,
  notFound,
  outcomeIn,
  succeeded,
  type Unfinished,
} from './outcomes.js'

export async function updateIndex(task: PendingTask, run: Run, context: BatchContext): Promise<Unfinished> {
  const { catalogue } = context
  const uid = indexOf(task)
  const { primaryKey, newUid } = contentOf(task, 'indexUpdate')
  const row = catalogue.row(uid)
  if (row === null) return effects({ outcomes: [failed(task, notFound(uid))] })
  const renamed = newUid !== null && newUid !== uid ? newUid : null
  if (renamed !== null && catalogue.row(renamed) !== null) {
    return effects({ outcomes: [failed(task, alreadyExists(renamed))] })
  }
  const taskUid = task.row.uid
  const report =
    primaryKey === null
      ? null
      : await commitOf(row.id, uid, [{ taskUid, kind: 'primaryKey', primaryKey }], run, context)
  return updatedIndex(task, row, report, context.clock.now())
}

/**
 * Builds the effects of an index update after its commit.
 * @param row the catalogue row before the update
 * @param report null: only the name changes, which needs no commit
 */
export function updatedIndex(
  task: PendingTask,
  row: CatalogueRow,
  report: BatchReport | null,
  finishedAt: Micros,
): Effects {
  const { newUid } = contentOf(task, 'indexUpdate')
  const renamed = newUid !== row.uid ? newUid : null
  const outcome = report === null ? succeeded(task) : outcomeIn(report, task)
  const lastBatch = report === null ? row.lastBatch : report.batchUid
  if (outcome.status === 'failed') {
    return { ...effects({ outcomes: [outcome], written: [{ ...row, lastBatch }] }), finishedAt }
  }
  const touched = renamed !== null || report?.outcomes.some((done) => done.touched) === true
  const changed: CatalogueRow = {
    ...row,
    uid: renamed ?? row.uid,
    primaryKey: report === null ? row.primaryKey : report.primaryKey,
    updatedAt: touched ? finishedAt : row.updatedAt,
    lastBatch,
  }
  return {
    ...effects({
      outcomes: [{ ...outcome, newIndexUid: renamed }],
      removed: renamed === null ? [] : [row.uid],
      written: [changed],
      relabels: renamed === null ? [] : [{ from: row.uid, to: renamed, swap: false, before: task.row.uid }],
    }),
    finishedAt,
  }
}
