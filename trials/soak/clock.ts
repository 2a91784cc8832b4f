/** Sets the date of a server forth and back by hours, and judges the dates that it tells. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerProcess } from '../../__test__/support/server-process.js'
import type { Faults } from '../faults/library.js'
import type { TaskView } from '../faults/model.js'

const HOURS_MAX = 36
/** Longest time between two jumps. */
const PAUSE_MS_MAX = 1_500
/** Dates by which listings are filtered after each life. */
const LISTINGS = 12

/** Sets the date now, and again at random moments until the signal. @returns by how many hours, in order */
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
 * Dates must rise with uids and along the life of a task, and a listing between dates is what they say.
 * @param tasks all of a server that has none left to do
 * @param added how many of them, from the end, have not been judged
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
      problems.push(`task ${task.uid} arrived at ${task.enqueuedAt}, the one before at ${before.enqueuedAt}`)
    const steps = dates.flatMap((name) => (task[name] === null ? [] : [microsOf(task[name])]))
    if (steps.some((step, number) => step < (steps[number - 1] ?? step)))
      problems.push(
        `task ${task.uid}: its dates fall: ${task.enqueuedAt}, ${task.startedAt}, ${task.finishedAt}`,
      )
  }
  for (let left = LISTINGS; left > 0; left--) {
    const name = dates[left % dates.length]!
    // The newest are looked at more often, since the older ones were looked at when they were new.
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
      problems.push(`/tasks?${filter} begins with other tasks than the newest of these dates`)
  }
  return problems
}

/** Microseconds since 1970 of a date with at most six digits of a fraction. */
function microsOf(date: string): number {
  const fraction = /\.(\d+)Z$/.exec(date)?.[1] ?? ''
  return Math.floor(Date.parse(date) / 1_000) * 1_000_000 + Number(fraction.padEnd(6, '0'))
}
