/** Deletes an index. The tasks before the deletion in its batch succeed without effect. */
import type { Counters } from '../listing/details.js'
import type { CatalogueRow, PendingTask } from '../store/records.js'
import type { BatchContext, Run } from './batch-context.js'
import { mayCreate } from './change-index.js'
import { effects, failed, indexOf, notFound, succeeded, type Unfinished } from './outcomes.js'

export async function deleteIndex(
  tasks: readonly PendingTask[],
  run: Run,
  { engine, catalogue, vectorSpool, log }: BatchContext,
): Promise<Unfinished> {
  const uid = indexOf(tasks[0])
  const row = catalogue.row(uid)
  if (row === null && !tasks.some(mayCreate)) {
    return effects({ outcomes: tasks.map((task) => failed(task, notFound(uid))) })
  }
  if (row !== null) await run.released(row.id)
  const present = row === null ? 0 : await documentsIn(row)
  await vectorSpool.forget(uid)
  const outcomes = tasks.map((task) => succeeded(task, countersOfDeleted(task, present)))
  return effects({
    outcomes,
    removed: row === null ? [] : [uid],
    dropped: row === null ? [] : [row.id],
  })

  /** Returns 0 if the documents cannot be counted, since a damaged index can be deleted too. */
  async function documentsIn({ id }: CatalogueRow): Promise<number> {
    try {
      return (await engine.stats(id)).numberOfDocuments
    } catch (error) {
      log.warn({ err: error, indexUid: uid }, 'the documents of an index were deleted without being counted')
      return 0
    }
  }
}

/** Counters of a task in a batch that deletes the index. Only the deletion itself counts documents. */
function countersOfDeleted({ content }: PendingTask, present: number): Counters {
  switch (content.kind) {
    case 'indexDeletion':
      return { deletedDocuments: present }
    case 'documents':
      return { indexedDocuments: 0 }
    case 'settings':
      return {}
    default:
      return { deletedDocuments: 0 }
  }
}
