/** Executes cancelations and deletions of tasks. */
import { CANCELED_TASKS_READ } from '../limits.js'
import type { EndingTask, PendingTask } from '../store/records.js'
import type { BatchContext, Outcome } from './batch-context.js'
import { contentOf, effects, succeeded, type Unfinished } from './outcomes.js'

export async function cancelTasks(task: PendingTask, { store }: BatchContext): Promise<Unfinished> {
  const { tasks } = contentOf(task, 'taskCancelation')
  const own = task.row.uid
  const uids = tasks.filter((uid) => uid < own)
  const unended: EndingTask[] = []
  for (let at = 0; at < uids.length; at += CANCELED_TASKS_READ)
    for (const other of await store.call('unended', [uids.slice(at, at + CANCELED_TASKS_READ)]))
      unended.push(other)
  // An upgrade cannot be canceled: the files are in the new format, which the previous version cannot read.
  const canceled = unended.filter(({ content }) => content.kind !== 'upgradeDatabase')
  return effects({
    outcomes: [
      ...canceled.map(
        (other): Outcome => ({
          task: other,
          status: 'canceled',
          error: null,
          counters: null,
          canceledBy: own,
          newIndexUid: null,
        }),
      ),
      succeeded(task, { canceledTasks: canceled.length }),
    ],
  })
}

export async function deleteTasks(
  tasks: readonly PendingTask[],
  { store }: BatchContext,
): Promise<Unfinished> {
  const deleted = new Set<number>()
  const outcomes: Outcome[] = []
  for (const task of tasks) {
    const { tasks: matched } = contentOf(task, 'taskDeletion')
    const ended = await store.call('ended', [matched.filter((uid) => uid < task.row.uid)])
    const before = deleted.size
    for (const uid of ended) deleted.add(uid)
    outcomes.push(succeeded(task, { deletedTasks: deleted.size - before }))
  }
  return effects({ outcomes, deletedTasks: [...deleted] })
}
