import test from 'ava'
import { Lane, LaneFullError } from '../../ts/embedding/models/lane.js'

const never = new AbortController().signal

/** Work that ends when the test says so. */
function held() {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return { work: () => ended, end }
}

test('pieces of work run one at a time, in the order of their calls', async (t) => {
  const lane = new Lane()
  const ran: string[] = []
  let running = 0
  const piece = (name: string) =>
    lane.run(async () => {
      t.is(++running, 1)
      await Promise.resolve()
      ran.push(name)
      running--
      return name
    }, never)
  t.deepEqual(await Promise.all(['a', 'b', 'c'].map(piece)), ['a', 'b', 'c'])
  t.deepEqual(ran, ['a', 'b', 'c'])
})

test('failed work ends its turn', async (t) => {
  const lane = new Lane()
  const failed = lane.run(() => Promise.reject(new Error('no')), never)
  const next = lane.run(async () => 'yes', never)
  t.is((await t.throwsAsync(failed)).message, 'no')
  t.is(await next, 'yes')
  t.is(await lane.run(async () => 'again', never), 'again')
})

test('aborted work leaves the lane before its turn, and more work than may wait is refused', async (t) => {
  const lane = new Lane(2)
  const first = held()
  const running = lane.run(first.work, never)
  const leaving = new AbortController()
  const ran: string[] = []
  const waiting = ['a', 'b'].map((name) =>
    lane.run(async () => ran.push(name), name === 'a' ? leaving.signal : never),
  )
  await t.throwsAsync(
    lane.run(async () => ran.push('c'), never),
    { instanceOf: LaneFullError },
  )
  leaving.abort(new Error('left'))
  t.is((await t.throwsAsync(waiting[0]!)).message, 'left')
  const last = lane.run(async () => ran.push('d'), never)
  first.end()
  await Promise.all([running, waiting[1], last])
  t.deepEqual(ran, ['b', 'd'])
  await t.throwsAsync(
    lane.run(async () => ran.push('e'), leaving.signal),
    { message: 'left' },
  )
})
