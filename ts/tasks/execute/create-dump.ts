import { ApiError } from '../../errors/index.js'
import type { PendingTask } from '../store/records.js'
import { type BatchContext, Interrupted, type Run } from './batch-context.js'
import { dumpSource } from './dump.js'
import { damagedDetails, effects, succeeded, type Unfinished } from './outcomes.js'

/** Writes a dump of the complete instance. */
export async function createDump(
  task: PendingTask,
  strategy: string,
  run: Run,
  context: BatchContext,
): Promise<Unfinished> {
  const leftOut = new Map<string, string>()
  try {
    const source = dumpSource(task, strategy, run, context, ({ uid }, damage) => {
      leftOut.set(uid, damage)
      context.log.warn(
        { indexUid: uid, damage, batchUid: run.batchUid },
        'a damaged index is not in the dump',
      )
    })
    const dumpUid = await context.writeDump(source)
    return effects({ outcomes: [succeeded(task, { dumpUid, ...damagedDetails(leftOut) })] })
  } catch (error) {
    if (run.signal.aborted) throw new Interrupted()
    if (error instanceof ApiError) throw error
    context.log.error({ err: error, batchUid: run.batchUid }, 'a dump failed unexpectedly')
    throw new ApiError('dump_process_failed', `the dump failed: ${messageOf(error)}`)
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
