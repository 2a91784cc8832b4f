/** Compacts an index. */
import { humanSize } from '../listing/sizes.js'
import type { PendingTask } from '../store/records.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { effects, failed, indexOf, notFound, succeeded, type Unfinished } from './outcomes.js'

export async function compactIndex(
  task: PendingTask,
  run: Run,
  { engine, catalogue }: BatchContext,
): Promise<Unfinished> {
  const uid = indexOf(task)
  const row = catalogue.row(uid)
  if (row === null) return effects({ outcomes: [failed(task, notFound(uid))] })
  const size = async (): Promise<string> => humanSize((await engine.sizes(row.id)).indexSize)
  if (!(await run.mayCommit())) throw new Interrupted()
  const preCompactionSize = await size()
  try {
    await engine.compact(row.id, run.signal)
  } catch (error) {
    throw run.signal.aborted ? new Interrupted() : error
  }
  return effects({ outcomes: [succeeded(task, { preCompactionSize, postCompactionSize: await size() })] })
}
