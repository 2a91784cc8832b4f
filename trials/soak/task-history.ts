/** All tasks of one data directory through the lives of its servers. */

import type { ServerProcess } from '../../__test__/support/server-process.js'
import { settled, tasksOf, toldOf } from '../faults/load.js'
import type { TaskView } from '../faults/model.js'

/** Longest time for the tasks of a life on a busy machine, with the least priority. */
const SETTLE_MS_MAX = 300_000
/** Every so many readings begin with the first task; the others begin where the one before ended. */
const READINGS_PER_WHOLE = 20

export class TaskHistory {
  #tasks: readonly TaskView[] = []
  #readings = 0

  /** Waits until no task is left to do. @returns all of them, and those that are told otherwise than before */
  async read(server: ServerProcess): Promise<{
    readonly tasks: readonly TaskView[]
    /** Those that were not there before. */
    readonly added: readonly TaskView[]
    readonly problems: readonly string[]
  }> {
    await settled(server, SETTLE_MS_MAX)
    const known = this.#tasks
    const isWhole = ++this.#readings % READINGS_PER_WHOLE === 0
    const read = await tasksOf(server, isWhole ? 0 : known.length)
    const added = isWhole ? read.slice(known.length) : read
    const problems = isWhole ? [...differing(known, read)] : []
    this.#tasks = isWhole ? read : [...known, ...read]
    return { tasks: this.#tasks, added, problems }
  }
}

function* differing(known: readonly TaskView[], read: readonly TaskView[]): Generator<string> {
  for (const [at, task] of known.entries()) {
    const now = read[at]
    if (now === undefined || toldOf(task) !== toldOf(now))
      yield `task ${task.uid} is told otherwise: ${JSON.stringify(task)}, now ${JSON.stringify(now)}`
  }
}
