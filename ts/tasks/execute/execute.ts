/** Selects the function that executes a batch. */
import type { PickedBatch } from '../batching.js'
import type { PendingTask } from '../store/records.js'
import { type BatchContext, type Effects, Interrupted, type Run } from './batch-context.js'
import { changeIndex } from './change-index.js'
import { changeRule, clearRules } from './change-rules.js'
import { cancelTasks, deleteTasks } from './change-tasks.js'
import { compactIndex } from './compact-index.js'
import { createDump } from './create-dump.js'
import { createIndex } from './create-index.js'
import { createSnapshot } from './create-snapshot.js'
import { deleteIndex } from './delete-index.js'
import { editIndex } from './edit-index.js'
import { exportIndexes } from './export-indexes.js'
import { effects, failed, failureBody, type Unfinished } from './outcomes.js'
import { swapIndexes } from './swap-indexes.js'
import { updateIndex } from './update-index.js'
import { upgradeDatabase } from './upgrade-database.js'

/**
 * Executes a batch up to and including its engine commit. A failure becomes the outcome of its tasks.
 * @throws Interrupted if `run.signal` was aborted before the commit was durable
 */
export async function execute(
  picked: PickedBatch,
  tasks: readonly PendingTask[],
  run: Run,
  context: BatchContext,
): Promise<Effects> {
  try {
    return finished(await effectsOf(picked, tasks, run, context))
  } catch (error) {
    if (error instanceof Interrupted) throw error
    const body = failureBody(error, context.log, run.batchUid)
    return finished(effects({ outcomes: tasks.map((task) => failed(task, body)) }))
  }

  function finished(done: Unfinished): Effects {
    return { ...done, finishedAt: done.finishedAt ?? context.clock.now() }
  }
}

function effectsOf(
  picked: PickedBatch,
  tasks: readonly PendingTask[],
  run: Run,
  context: BatchContext,
): Promise<Unfinished> {
  const [first] = tasks
  if (first === undefined) throw new TypeError('a batch has at least one task')
  switch (picked.kind) {
    case 'indexCreation':
      return createIndex(first, run, context)
    case 'indexUpdate':
      return updateIndex(first, run, context)
    case 'indexSwap':
      return swapIndexes(first, context)
    case 'indexDeletion':
      return deleteIndex(tasks, run, context)
    case 'edit':
      return editIndex(first, run, context)
    case 'indexCompaction':
      return compactIndex(first, run, context)
    case 'taskCancelation':
      return cancelTasks(first, context)
    case 'upgradeDatabase':
      return upgradeDatabase(first, run, context)
    case 'taskDeletion':
      return deleteTasks(tasks, context)
    case 'export':
      return exportIndexes(first, run, context)
    case 'dsrUpdate':
      return changeRule(first, context)
    case 'dsrClear':
      return clearRules(first, context)
    case 'dumpCreation':
      return createDump(first, picked.why, run, context)
    case 'snapshotCreation':
      return createSnapshot(tasks, run, context)
    default:
      return changeIndex(tasks, run, context)
  }
}
