/** Creates an index. */

import { randomUUID } from 'node:crypto'
import type { PendingTask } from '../store/records.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { announce, commitOf } from './commit.js'
import {
  alreadyExists,
  contentOf,
  effects,
  failed,
  failureBody,
  indexOf,
  outcomeIn,
  type Unfinished,
} from './outcomes.js'

export async function createIndex(task: PendingTask, run: Run, context: BatchContext): Promise<Unfinished> {
  const { engine, catalogue, log } = context
  const uid = indexOf(task)
  const { primaryKey } = contentOf(task, 'indexCreation')
  if (catalogue.row(uid) !== null) return effects({ outcomes: [failed(task, alreadyExists(uid))] })
  const id = randomUUID()
  const taskUid = task.row.uid
  await announce(id, context)
  try {
    const report = await commitOf(id, uid, [{ taskUid, kind: 'primaryKey', primaryKey }], run, context)
    const outcome = outcomeIn(report, task)
    if (outcome.status === 'failed') return effects({ outcomes: [outcome], dropped: [id] })
    const finishedAt = context.clock.now()
    const { primaryKey: found, batchUid: lastBatch } = report
    const dates = { createdAt: finishedAt, updatedAt: finishedAt }
    const written = [{ uid, id, primaryKey: found, ...dates, lastBatch }]
    return effects({ finishedAt, outcomes: [outcome], written })
  } catch (error) {
    if (error instanceof Interrupted) throw error
    await engine.drop(id).catch((left: unknown) => {
      // The directory was recorded in advance, so the next start removes it.
      log.warn({ err: left, index: id }, 'the files of a failed index creation could not be removed')
    })
    return effects({ outcomes: [failed(task, failureBody(error, log, run.batchUid))] })
  }
}
