import type { Tasks } from '../tasks/index.js'
import type { Logger } from '../telemetry/index.js'

/**
 * Enqueues a snapshot every `seconds` seconds, starting after the first interval.
 * @returns a function that ends the schedule
 */
export function scheduleSnapshots(tasks: Pick<Tasks, 'enqueue'>, seconds: number, log: Logger): () => void {
  let timer: NodeJS.Timeout
  const wait = (left: number): void => {
    const now = Math.min(left, TIMER_MS_MAX)
    timer = setTimeout(() => (left > now ? wait(left - now) : ask()), now)
    timer.unref()
  }
  const ask = (): void => {
    const content = { kind: 'snapshotCreation' } as const
    tasks.enqueue({ indexUid: null, type: 'snapshotCreation', content }).catch((error: unknown) => {
      log.error({ err: error }, 'a scheduled snapshot could not be enqueued; the next one is tried')
    })
    wait(seconds * 1000)
  }
  wait(seconds * 1000)
  return () => clearTimeout(timer)
}

/** Longest timer of Node.js. Longer ones fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1
