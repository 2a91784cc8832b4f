/** Executes changes of dynamic search rules. */
import type { PendingTask } from '../store/records.js'
import { formatDate } from '../time.js'
import type { BatchContext } from './batch-context.js'
import { contentOf, effects, succeeded, type Unfinished } from './outcomes.js'

export async function changeRule(task: PendingTask, { rules }: BatchContext): Promise<Unfinished> {
  const { uid, patch } = contentOf(task, 'dsrUpdate')
  await rules.change(uid, patch, formatDate(task.row.enqueuedAt))
  return effects({ outcomes: [succeeded(task, { updatedRules: 1 })] })
}

export async function clearRules(task: PendingTask, { rules }: BatchContext): Promise<Unfinished> {
  return effects({ outcomes: [succeeded(task, { deletedDocuments: await rules.clear() })] })
}
