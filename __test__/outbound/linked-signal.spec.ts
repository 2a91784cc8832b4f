import { getEventListeners } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import test from 'ava'
import { linkedSignal } from '../../ts/outbound/index.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }))

test('a linked signal aborts with the reason of the first source that aborts', async (t) => {
  const [one, other] = [new AbortController(), new AbortController()]
  const linked = linkedSignal([one.signal, undefined, other.signal], 60_000)
  const end = aborted(linked.signal)
  other.abort('the other')
  one.abort('too late')
  t.deepEqual([await end, linked.isLate], ['the other', false])
  t.is(linkedSignal([new AbortController().signal, one.signal]).signal.reason, 'too late')
})

test('a linked signal aborts at its limit, also if nothing but its listener refers to it', async (t) => {
  const source = new AbortController()
  // The limit alone does not keep the process alive.
  const keeping = setTimeout(() => undefined, 60_000)
  const end = aborted(linkedSignal([source.signal], 200).signal)
  for (let round = 0; round < 3; round++) {
    await setImmediate()
    collectGarbage()
  }
  t.is(((await end) as Error).name, 'TimeoutError')
  clearTimeout(keeping)
})

test('an unlinked signal leaves nothing at its sources and has no limit', async (t) => {
  const source = new AbortController()
  const linked = Array.from({ length: 20 }, () => linkedSignal([source.signal], 1))
  t.is(getEventListeners(source.signal, 'abort').length, 20)
  for (const { unlink } of linked) unlink()
  t.deepEqual(getEventListeners(source.signal, 'abort'), [])
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.false(linked.some(({ isLate, signal }) => isLate || signal.aborted))
})
