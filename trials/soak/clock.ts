/** Moves the date of a server forward and back by hours, and checks the dates of its tasks. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '../../__test__/support/server-process.js'
import type { Faults } from '../faults/library.js'
import type { TaskView } from '../faults/model.js'

const HOURS_MAX = 36
/** Maximum time between two jumps. */
const PAUSE_MS_MAX = 1_500
/** Number of date-filtered listings to check after each cycle. */
const LISTINGS = 12

/** Moves the date now and at random moments until the signal aborts. @returns the hours of each jump, in order */
export async function jump(faults: Faults, random: () => number, signal: AbortSignal): Promise<string[]> {
  const hours: string[] = []
  while (!signal.aborted) {
    const seconds = (random() * 2 - 1) * HOURS_MAX * 3_600
    faults.shiftClock(seconds)
    hours.push((seconds / 3_600).toFixed(1))
    await sleep(random() * PAUSE_MS_MAX, null, { signal }).catch(() => null)
  }
  return hours
}

const dates = ['enqueuedAt', 'startedAt', 'finishedAt'] as const

/**
 * Checks that dates rise with uids and within each task, and that filters by date list the right tasks.
 * @param tasks all tasks of a server, all ended
 * @param added number of tasks at the end that were not judged before
 */
export async function judgeDates(
  server: ServerProcess,
  tasks: readonly TaskView[],
  { added, random }: { readonly added: number; readonly random: () => number },
): Promise<string[]> {
  const problems: string[] = []
  const first = tasks.length - added
  for (const [at, task] of tasks.slice(first).entries()) {
    const before = tasks[first + at - 1]
    if (before !== undefined && microsOf(task.enqueuedAt) < microsOf(before.enqueuedAt))
      problems.push(
        `task ${task.uid} was enqueued at ${task.enqueuedAt}, the previous task at ${before.enqueuedAt}`,
      )
    const steps = dates.flatMap((name) => (task[name] === null ? [] : [microsOf(task[name])]))
    if (steps.some((step, number) => step < (steps[number - 1] ?? step)))
      problems.push(
        `task ${task.uid}: its dates go back: ${task.enqueuedAt}, ${task.startedAt}, ${task.finishedAt}`,
      )
  }
  for (let left = LISTINGS; left > 0; left--) {
    const name = dates[left % dates.length]!
    // Favours new tasks, since old tasks were checked in earlier cycles.
    const task = tasks[Math.floor(tasks.length - 1 - random() ** 4 * (tasks.length - 1))]!
    const date = task[name]
    if (date !== null) problems.push(...(await judgeListing(server, tasks, { name, date })))
  }
  return problems
}

async function judgeListing(
  server: ServerProcess,
  tasks: readonly TaskView[],
  { name, date }: { readonly name: (typeof dates)[number]; readonly date: string },
): Promise<string[]> {
  const bound = microsOf(date)
  const problems: string[] = []
  for (const [side, holds] of [
    ['after', (at: number) => at > bound],
    ['before', (at: number) => at < bound],
  ] as const) {
    const filter = `${side}${name[0]?.toUpperCase()}${name.slice(1)}=${encodeURIComponent(date)}`
    const { body } = await server.call('GET', `/tasks?limit=200&${filter}`)
    const { total, results } = body as { readonly total: number; readonly results: readonly TaskView[] }
    const expected = tasks.filter((task) => task[name] !== null && holds(microsOf(task[name])))
    const uids = expected
      .slice(-results.length || expected.length)
      .map(({ uid }) => uid)
      .toReversed()
    if (total !== expected.length)
      problems.push(`/tasks?${filter} tells ${total} tasks, there are ${expected.length}`)
    else if (String(results.map(({ uid }) => uid)) !== String(uids))
      problems.push(`/tasks?${filter} does not begin with the newest tasks in this range`)
  }
  return problems
}

/** Parses a date with at most six fractional digits. @returns microseconds since 1970 */
function microsOf(date: string): number {
  const fraction = /\.(\d+)Z$/.exec(date)?.[1] ?? ''
  return Math.floor(Date.parse(date) / 1_000) * 1_000_000 + Number(fraction.padEnd(6, '0'))
}
