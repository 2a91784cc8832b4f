/** Reads all tasks of a data directory, and checks across restarts that finished tasks do not change. */

import type { ServerProcess } from '../../__test__/support/server-process.js'
import { finalTaskText, settled, tasksOf } from '../faults/load.js'
import type { TaskView } from '../faults/model.js'

/** Timeout for the tasks of a cycle, on a busy machine and with lowest priority. */
const SETTLE_MS_MAX = 300_000
/** Every n-th reading is complete. The others read only new tasks. */
const READINGS_PER_COMPLETE = 20

export class TaskHistory {
  #tasks: readonly TaskView[] = []
  #readings = 0

  /** Waits until all tasks ended. @returns all tasks, the new ones, and a line for each task that changed */
  async read(server: ServerProcess): Promise<{
    readonly tasks: readonly TaskView[]
    /** Tasks that are new since the last reading. */
    readonly added: readonly TaskView[]
    readonly problems: readonly string[]
  }> {
    await settled(server, SETTLE_MS_MAX)
    const known = this.#tasks
    const isComplete = ++this.#readings % READINGS_PER_COMPLETE === 0
    const read = await tasksOf(server, isComplete ? 0 : known.length)
    const added = isComplete ? read.slice(known.length) : read
    const problems = isComplete ? [...changedTasks(known, read)] : []
    this.#tasks = isComplete ? read : [...known, ...read]
    return { tasks: this.#tasks, added, problems }
  }
}

function* changedTasks(known: readonly TaskView[], read: readonly TaskView[]): Generator<string> {
  for (const [at, task] of known.entries()) {
    const now = read[at]
    if (now === undefined || finalTaskText(task) !== finalTaskText(now))
      yield `task ${task.uid} changed: ${JSON.stringify(task)}, now ${JSON.stringify(now)}`
  }
}
