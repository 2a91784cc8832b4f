import { mock } from 'node:test'
import test from 'ava'
import { scheduleSnapshots } from '../../ts/cli/snapshot-schedule.js'
import { openLog } from '../../ts/telemetry/index.js'

const log = openLog({ level: 'OFF', mode: 'JSON' })

/** @param seconds interval of the schedule @param refuses true if every request is refused */
function schedule(seconds: number, refuses = false) {
  let asked = 0
  const enqueue = async (): Promise<never> => {
    asked++
    if (refuses) throw new Error('the queue is full')
    return undefined as never
  }
  const stop = scheduleSnapshots({ enqueue }, seconds, log)
  return { asked: () => asked, stop }
}

test.serial.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
test.serial.afterEach.always(() => mock.timers.reset())

for (const [what, seconds, refuses] of [
  ['every three seconds', 3, false],
  ['every day', 86_400, false],
  // Exceeds the longest timer of Node.js.
  ['every hundred days', 8_640_000, false],
  ['every three seconds, though the queue refuses', 3, true],
] as const)
  test.serial(`a snapshot ${what} is requested after each interval`, (t) => {
    const { asked, stop } = schedule(seconds, refuses)
    // A longer step than a timer would hide the start of the next timer.
    const step = 2 ** 31 - 1
    for (let round = 0; round < 4; round++) {
      for (let left = seconds * 1000 - 1; left > 0; left -= step) mock.timers.tick(Math.min(left, step))
      t.is(asked(), round, 'not before the interval has passed')
      mock.timers.tick(1)
      t.is(asked(), round + 1)
    }
    stop()
    mock.timers.tick(seconds * 1000)
    t.is(asked(), 4, 'not after the end')
  })
