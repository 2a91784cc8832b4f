/** Slots of searches that wait for several services at once. */
import test from 'ava'
import { SearchQueue } from '../../ts/http/searches/index.js'
import type { DisconnectSignal } from '../../ts/operations/index.js'

const limits = { searchesRunningMax: 1, searchesWaitingMax: 9, searchWaitMsMax: 60_000 }

/** A promise with the function that resolves it. */
function due() {
  let arrive: () => void = () => undefined
  let fail: (error: Error) => void = () => undefined
  const promise = new Promise<void>((resolve, reject) => {
    arrive = resolve
    fail = reject
  })
  return { promise, arrive, fail }
}

/** A service that answers, or fails, when the test says so. */
function service(stop: DisconnectSignal) {
  const { promise, arrive, fail } = due()
  const ended = stop.waitFor(() => promise)
  ended.catch(() => undefined)
  return { ended, answer: arrive, fail: () => fail(new Error('out of order')) }
}

type Service = ReturnType<typeof service>

/** A client that the test can disconnect. */
class Client {
  readonly #callbacks = new Set<() => void>()

  onDisconnect = (callback: () => void): (() => void) => {
    this.#callbacks.add(callback)
    return () => this.#callbacks.delete(callback)
  }

  disconnect(): void {
    const callbacks = [...this.#callbacks]
    this.#callbacks.clear()
    for (const callback of callbacks) callback()
  }
}

/** Resolves once everything that waits for no service has run. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** Fills the slot until the returned function is called. */
async function occupy(queue: SearchQueue): Promise<() => Promise<void>> {
  const { promise, arrive } = due()
  const run = queue.run('other', new Client().onDisconnect, () => promise)
  await settled()
  return async () => {
    arrive()
    await run
  }
}

test('a search whose services end while all slots are taken gets one slot, and frees it', async (t) => {
  const queue = new SearchQueue(limits)
  const second = due()
  const services: Service[] = []
  const search = queue.run('a', new Client().onDisconnect, async (stop) => {
    const start = (): Promise<void> => {
      services.push(service(stop))
      return services.at(-1)!.ended
    }
    await Promise.all([start(), second.promise.then(start)])
  })
  const free = await occupy(queue)
  services[0]!.answer()
  await settled()
  second.arrive()
  await settled()
  services[1]!.answer()
  await settled()
  await free()
  await search
  t.is(queue.running, 0)
})

test('a service that answers after its search has failed takes no slot', async (t) => {
  const queue = new SearchQueue(limits)
  let slow: Service | null = null
  const search = queue.run('a', new Client().onDisconnect, async (stop) => {
    slow = service(stop)
    const failing = service(stop)
    failing.fail()
    await Promise.all([slow.ended, failing.ended])
  })
  await t.throwsAsync(search, { message: 'out of order' })
  t.is(queue.running, 0)
  slow!.answer()
  await settled()
  t.is(queue.running, 0)
  t.is(await queue.run('a', new Client().onDisconnect, async () => 'next'), 'next')
})

test('a search whose client leaves before a slot is free takes none', async (t) => {
  const queue = new SearchQueue(limits)
  const client = new Client()
  const services: Service[] = []
  const search = queue.run('a', client.onDisconnect, async (stop) => {
    services.push(service(stop), service(stop))
    await Promise.all(services.map(({ ended }) => ended))
  })
  const free = await occupy(queue)
  client.disconnect()
  for (const { answer } of services) answer()
  await t.throwsAsync(search, { code: 'too_many_search_requests' })
  await free()
  await settled()
  t.is(queue.running, 0)
})

test('searches that have ended do not count among those that wait for services', async (t) => {
  const queue = new SearchQueue({ ...limits, searchesWaitingMax: 1 })
  for (let round = 0; round < 3; round++) {
    let slow: Service | null = null
    const search = queue.run('a', new Client().onDisconnect, async (stop) => {
      slow = service(stop)
      // The slot is free only if the queue lets this search leave it.
      t.is(queue.running, 0)
      throw new Error('out of order')
    })
    await t.throwsAsync(search, { message: 'out of order' })
    slow!.answer()
    await settled()
  }
})
