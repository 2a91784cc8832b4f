/** Swaps the names of indexes. */
import type { CatalogueRow, PendingTask } from '../store/records.js'
import type { BatchContext } from './batch-context.js'
import {
  alreadyExists,
  contentOf,
  effects,
  failed,
  notFound,
  succeeded,
  type Unfinished,
} from './outcomes.js'

export async function swapIndexes(task: PendingTask, { catalogue }: BatchContext): Promise<Unfinished> {
  const { swaps } = contentOf(task, 'indexSwap')
  const missing = swaps
    .flatMap(({ indexes: [a, b], rename }) => (rename ? [a] : [a, b]))
    .filter((uid) => catalogue.row(uid) === null)
  if (missing.length > 0) return effects({ outcomes: [failed(task, notFound(...missing))] })
  const taken = swaps.find(({ indexes, rename }) => rename && catalogue.row(indexes[1]) !== null)
  if (taken !== undefined) return effects({ outcomes: [failed(task, alreadyExists(taken.indexes[1]))] })

  const written: CatalogueRow[] = []
  for (const { indexes } of swaps) {
    const [a, b] = indexes
    const [rowA, rowB] = [catalogue.row(a), catalogue.row(b)]
    if (rowA !== null) written.push({ ...rowA, uid: b })
    if (rowB !== null) written.push({ ...rowB, uid: a })
  }
  return effects({
    outcomes: [succeeded(task)],
    removed: swaps.flatMap(({ indexes }) => indexes),
    written,
    relabels: swaps.map(({ indexes: [from, to], rename }) => ({
      from,
      to,
      swap: !rename,
      before: task.row.uid,
    })),
  })
}
