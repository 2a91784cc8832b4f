/** An index is compacted. */
import { humanSize } from '../listing/sizes.js'
import type { PendingTask } from '../store/records.js'
import type { BatchContext } from './batch-context.js'
import { effects, failed, indexOf, notFound, succeeded, type Unfinished } from './outcomes.js'

export async function compactIndex(
  task: PendingTask,
  { engine, catalogue }: BatchContext,
): Promise<Unfinished> {
  const uid = indexOf(task)
  const row = catalogue.row(uid)
  if (row === null) return effects({ outcomes: [failed(task, notFound(uid))] })
  // Segments are merged as they are written, so nothing is reclaimed and both sizes are the same.
  const size = humanSize((await engine.stats(row.id)).indexSize)
  return effects({ outcomes: [succeeded(task, { preCompactionSize: size, postCompactionSize: size })] })
}
