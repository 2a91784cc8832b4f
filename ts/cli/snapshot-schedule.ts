import type { Tasks } from '../tasks/index.js'
import type { Logger } from '../telemetry/index.js'

/**
 * Asks for a snapshot every so many seconds, for the first time after that many.
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
      log.error({ err: error }, 'a scheduled snapshot could not be asked for; the next one is tried')
    })
    wait(seconds * 1000)
  }
  wait(seconds * 1000)
  return () => clearTimeout(timer)
}

/** Timers of Node.js that are longer fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1
