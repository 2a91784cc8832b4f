import type { PendingTask } from '../store/records.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { frozen, type LeaveOut, unlessDamaged } from './frozen.js'
import { effects, succeeded, type Unfinished } from './outcomes.js'
import type { FrozenDirectory } from './snapshot-source.js'

/** Writes one snapshot for all tasks that ask for one. */
export async function createSnapshot(
  tasks: readonly PendingTask[],
  run: Run,
  context: BatchContext,
): Promise<Unfinished> {
  const { engine, log } = context
  const leaveOut: LeaveOut = ({ uid }, damage) =>
    log.warn({ indexUid: uid, damage, batchUid: run.batchUid }, 'a damaged index is not in the snapshot')
  const omitted = tasks.map(({ row }) => row.uid)
  const freeze = async (path: string): Promise<FrozenDirectory> => {
    const copy = { path, purpose: 'starting', omitted } as const
    const { indexes, uploads, release } = await frozen(copy, run, context, leaveOut)
    const files = indexes.map(({ entry, pin }) => ({
      id: entry.id,
      copyTo: async (directory: string) => {
        const copy = async () => {
          await engine.snapshot(pin, directory)
          return true
        }
        return (await unlessDamaged(engine, entry, leaveOut, copy)) ?? false
      },
    }))
    return { indexes: files, uploads, release }
  }
  try {
    await context.writeSnapshot({
      startedAt: new Date(run.startedAt / 1000),
      freeze,
      signal: run.signal,
      step: run.step,
      count: run.count,
    })
  } catch (error) {
    throw run.signal.aborted ? new Interrupted() : error
  }
  return effects({ outcomes: tasks.map((task) => succeeded(task)) })
}
