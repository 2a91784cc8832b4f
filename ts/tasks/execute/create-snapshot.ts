/** A snapshot is written. */
import type { PendingTask } from '../store/records.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { effects, succeeded, type Unfinished } from './outcomes.js'

/** Writes one snapshot for all tasks that ask for one. */
export async function createSnapshot(
  tasks: readonly PendingTask[],
  run: Run,
  context: BatchContext,
): Promise<Unfinished> {
  const { engine, store, spool, catalogue, log } = context
  try {
    await context.writeSnapshot({
      engine,
      startedAt: new Date(run.startedAt / 1000),
      indexes: catalogue.entries(),
      copyStore: (path) => store.call('copyTo', [path, tasks.map(({ row }) => row.uid)]),
      uploads: async () => (await store.call('payloads', [])).map((name) => spool.pathOf(name)),
      signal: run.signal,
      step: run.step,
      count: run.count,
      leaveOut: ({ uid }, damage) =>
        log.warn({ indexUid: uid, damage, batchUid: run.batchUid }, 'a damaged index is not in the snapshot'),
    })
  } catch (error) {
    throw run.signal.aborted ? new Interrupted() : error
  }
  return effects({ outcomes: tasks.map((task) => succeeded(task)) })
}
