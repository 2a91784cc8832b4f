/** Documents of an index edited by a script. */
import type { PendingTask } from '../store/records.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { commitOf } from './commit.js'
import { editDocuments } from './edit.js'
import { contentOf, effects, failed, indexOf, notFound, outcomeIn, type Unfinished } from './outcomes.js'

/** Runs a script over the documents of an index, then commits what it changed. */
export async function editIndex(task: PendingTask, run: Run, context: BatchContext): Promise<Unfinished> {
  const { catalogue, engine, spool, runScript, log } = context
  const uid = indexOf(task)
  const row = catalogue.row(uid)
  if (row === null) return effects({ outcomes: [failed(task, notFound(uid))] })
  run.step('running the function', { finished: 0, total: 3 })
  const { count, signal } = run
  const checkpoint = (): void => {
    if (signal.aborted) throw new Interrupted()
  }
  const edit = contentOf(task, 'edit')
  // A file that cannot be removed does not undo the commit; the next start removes it.
  const remove = async (path: string): Promise<void> => {
    await spool.remove(path).catch((error: unknown) => {
      log.warn({ err: error, path }, 'the documents that a function has changed could not be removed')
    })
  }
  const editContext = { engine, slot: spool.slot, remove, runScript, signal, checkpoint, count }
  const operation = await editDocuments(edit, task.row.uid, row, editContext)
  try {
    const report = await commitOf(row.id, uid, [operation], run, context)
    const finishedAt = context.clock.now()
    const outcomes = [outcomeIn(report, task)]
    const touched = outcomes[0]?.status === 'succeeded'
    const updatedAt = touched ? finishedAt : row.updatedAt
    const written = [{ ...row, updatedAt, lastBatch: report.batchUid }]
    return effects({ finishedAt, outcomes, written })
  } finally {
    if (operation.payload !== null && 'path' in operation.payload) await remove(operation.payload.path)
  }
}
