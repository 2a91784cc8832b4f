import type { PendingTask } from '../store/records.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { commitOf } from './commit.js'
import { editDocuments } from './edit.js'
import { contentOf, effects, failed, indexOf, notFound, outcomeIn, type Unfinished } from './outcomes.js'

/** Runs a script over the documents of an index and commits the changes. */
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
  // The commit stands even if the file cannot be removed. The next start removes it.
  const remove = async (path: string): Promise<void> => {
    await spool.remove(path).catch((error: unknown) => {
      log.warn({ err: error, path }, 'the file of documents changed by a function could not be removed')
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
