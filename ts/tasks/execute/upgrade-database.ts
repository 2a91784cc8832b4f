import { EngineError } from '../../engine/index.js'
import type { PendingTask } from '../store/records.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { damagedDetails, effects, succeeded, type Unfinished } from './outcomes.js'

/**
 * Upgrades a data directory of an older version: opens every index and lists damaged ones in the details. The start has
 * already upgraded the task store. Engines read older formats and write the newest one, so indexes upgrade with their
 * next writes.
 */
export async function upgradeDatabase(
  task: PendingTask,
  run: Run,
  { engine, catalogue, log }: BatchContext,
): Promise<Unfinished> {
  const rows = catalogue.rows()
  const damaged = new Map<string, string>()
  run.step('upgrading indexes')
  for (const [position, { uid, id }] of rows.entries()) {
    if (run.signal.aborted) throw new Interrupted()
    run.count('index', position, rows.length)
    try {
      await engine.lastCommit(id)
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'index_damaged') throw error
      const damage = engine.damage(id) ?? error.message
      log.warn({ indexUid: uid, damage, batchUid: run.batchUid }, 'a damaged index could not be upgraded')
      damaged.set(uid, damage)
    }
  }
  return effects({ outcomes: [succeeded(task, damagedDetails(damaged))] })
}
