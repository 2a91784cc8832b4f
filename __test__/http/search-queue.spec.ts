import { request } from 'node:http'
import test from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { startProvider } from '../support/provider.js'
import { checkError } from '../support/refusals.js'
import { startServer, type TestServer } from '../support/server.js'

/** Blocks searches of an engine until they are released, one by one, and records their order. */
class Gate {
  readonly started: string[] = []
  readonly #held: (() => void)[] = []
  readonly #call: 'search' | 'similar'

  constructor(call: 'search' | 'similar' = 'search') {
    this.#call = call
  }

  wrap = (engine: Engine): Engine =>
    new Proxy(engine, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== this.#call) return value.bind(target)
        return async (...args: Parameters<Engine['search']>) => {
          this.started.push((JSON.parse(Buffer.from(args[1]).toString()) as { q: string }).q)
          await new Promise<void>((resolve) => this.#held.push(resolve))
          return target[this.#call](...args)
        }
      },
    })

  open(): void {
    this.#held.shift()?.()
  }

  async untilStarted(searches: number): Promise<void> {
    while (this.started.length < searches) await turn()
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 5))
/** Polls the metrics until this many searches wait. */
async function untilWaiting(server: TestServer, searches: number): Promise<void> {
  const line = `meilisearch_searches_waiting_to_be_processed ${searches}\n`
  while (!(await server.get('/metrics')).bytes.toString().includes(line)) await turn()
}

const path = '/indexes/a/search'
const masterKey = 'harbour-lantern-4471-xyz'

test('a search is refused with Retry-After when the running and waiting searches reach their limits', async (t) => {
  const gate = new Gate()
  const limits = { searchesRunningMax: 1, searchesWaitingMax: 1 }
  const server = await startServer(t, { ...limits, wrapEngine: gate.wrap })
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  const first = server.post(path, { q: 'first' })
  await gate.untilStarted(1)
  const [second, third] = [server.post(path, { q: 'second' }), server.post(path, { q: 'third' })]
  // The network decides the order: one search waits and the other is refused.
  const refused = await Promise.race([second, third])
  checkError(t, refused, 503, 'too_many_search_requests')
  t.is(refused.headers['retry-after'], '10')
  t.is((await server.get('/indexes/a/stats')).status, 200, 'other routes are not queued')
  gate.open()
  t.is((await first).status, 200)
  await gate.untilStarted(2)
  gate.open()
  const statuses = [(await second).status, (await third).status].sort()
  t.deepEqual(statuses, [200, 503])
})

test('a search that waits too long is refused', async (t) => {
  const gate = new Gate()
  const limits = { searchesRunningMax: 1, searchesWaitingMax: 9, searchWaitMsMax: 50 }
  const server = await startServer(t, { ...limits, wrapEngine: gate.wrap })
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  const first = server.post(path, { q: 'first' })
  await gate.untilStarted(1)
  checkError(t, await server.post(path, { q: 'late' }), 503, 'too_many_search_requests')
  gate.open()
  t.is((await first).status, 200)
})

test('a client that disconnects leaves the queue', async (t) => {
  const gate = new Gate()
  const limits = { searchesRunningMax: 1, searchesWaitingMax: 1, features: ['metrics'] as const }
  const server = await startServer(t, { ...limits, wrapEngine: gate.wrap })
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  const first = server.post(path, { q: 'first' })
  await gate.untilStarted(1)
  const leaving = request(`${server.url}${path}?q=leaving`).on('error', () => {})
  leaving.end()
  await untilWaiting(server, 1)
  checkError(t, await server.post(path, { q: 'no room' }), 503, 'too_many_search_requests')
  leaving.destroy()
  await untilWaiting(server, 0)
  const staying = server.post(path, { q: 'staying' })
  await untilWaiting(server, 1)
  gate.open()
  t.is((await first).status, 200)
  await gate.untilStarted(2)
  gate.open()
  t.is((await staying).status, 200)
  t.deepEqual(gate.started, ['first', 'staying'])
})

test('waiting searches of several keys take turns, so that a busy key does not starve the others', async (t) => {
  const gate = new Gate()
  const limits = { masterKey, searchesRunningMax: 1, searchesWaitingMax: 3, features: ['metrics'] as const }
  const server = await startServer(t, { ...limits, wrapEngine: gate.wrap })
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  const { body: key } = await server.post('/keys', { actions: ['search'], indexes: ['*'], expiresAt: null })
  const asKey = { headers: { authorization: `Bearer ${key.key}` } }
  const first = server.post(path, { q: 'busy 1' })
  await gate.untilStarted(1)
  const busy = ['busy 2', 'busy 3', 'busy 4'].map((q) => server.post(path, { q }))
  await untilWaiting(server, 3)
  checkError(t, await server.post(path, { q: 'busy 5' }), 503, 'too_many_search_requests')
  const quiet = server.post(path, { q: 'quiet' }, asKey)
  const evicted = await Promise.race(busy)
  checkError(t, evicted, 503, 'too_many_search_requests')
  for (let running = 1; running <= 4; running++) {
    await gate.untilStarted(running)
    gate.open()
  }
  t.is((await first).status, 200)
  t.is((await quiet).status, 200)
  t.true(gate.started.indexOf('quiet') <= 2, `served in the order ${gate.started.join(', ')}`)
  t.deepEqual((await Promise.all(busy)).map(({ status }) => status).sort(), [200, 200, 503])
})

test('a running search stops when its client disconnects, and the next one runs', async (t) => {
  const stopped: string[] = []
  let isRunning = false
  const wrapEngine = (engine: Engine): Engine =>
    new Proxy(engine, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'search') return value.bind(target)
        return async (...[index, body, stop]: Parameters<Engine['search']>) => {
          const { q } = JSON.parse(Buffer.from(body).toString()) as { q: string }
          if (q !== 'endless') return target.search(index, body, stop)
          isRunning = true
          await new Promise<void>((resolve) => stop?.addEventListener('abort', () => resolve()))
          stopped.push(q)
          return target.search(index, body, stop)
        }
      },
    })
  const server = await startServer(t, { searchesRunningMax: 1, searchesWaitingMax: 5, wrapEngine })
  await server.settle(t, server.post('/indexes/a/documents', [{ id: 1, t: 'short' }]))
  const leaving = request(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  })
  leaving.on('error', () => undefined)
  leaving.end(JSON.stringify({ q: 'endless' }))
  while (!isRunning) await turn()
  const next = server.post(path, { q: 'short' })
  await turn()
  t.deepEqual(stopped, [])
  leaving.destroy()
  t.is((await next).body.hits.length, 1)
  t.deepEqual(stopped, ['endless'])
})

test('every operation that reads documents stops when its client disconnects', async (t) => {
  const told: string[] = []
  const held = ['facetSearch', 'similar', 'documents'] as const
  const wrapEngine = (engine: Engine): Engine =>
    new Proxy(engine, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        const isHeld = held.some((one) => one === name)
        if (!isHeld) return value.bind(target)
        return async (...[, , stop]: Parameters<Engine['similar']>) => {
          await new Promise<void>((resolve) => stop?.addEventListener('abort', () => resolve()))
          told.push(String(name))
          throw new Error('given up')
        }
      },
    })
  const server = await startServer(t, { wrapEngine })
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  const asked: readonly (readonly [string, object])[] = [
    ['/indexes/a/facet-search', { facetName: 'x' }],
    ['/indexes/a/similar', { id: 1, embedder: 'x' }],
    ['/indexes/a/documents/fetch', {}],
  ]
  for (const [route, body] of asked) {
    const before = told.length
    const leaving = request(`${server.url}${route}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    leaving.on('error', () => undefined)
    leaving.end(JSON.stringify(body))
    // The server never notices a client that disconnects before its request is read.
    await new Promise((resolve) => setTimeout(resolve, 100))
    leaving.destroy()
    while (told.length === before) await turn()
  }
  t.deepEqual(told, [...held])
})

test('searches that wait for an embedder free their slot, and have priority when they return', async (t) => {
  const gate = new Gate()
  let answerAll: () => void = () => undefined
  const answered = new Promise<void>((resolve) => {
    answerAll = resolve
  })
  let asked = 0
  const provider = await startProvider(t, async ({ body }) => {
    if (body === 'tried when set') return [1, 2]
    asked += 1
    await answered
    return [1, 2]
  })
  const limits = { searchesRunningMax: 1, searchesWaitingMax: 2, features: ['metrics'] as const }
  const server = await startServer(t, { ...limits, allowedNetworks: ['127.0.0.0/8'], wrapEngine: gate.wrap })
  const rest = { source: 'rest', url: provider.url, request: '{{text}}', response: '{{embedding}}' }
  const settings = { embedders: { g: { ...rest, dimensions: 2 } }, searchCutoffMs: 60_000 }
  await server.settle(t, server.patch('/indexes/a/settings', settings))
  const hybrid = { embedder: 'g', semanticRatio: 1 }
  const embedded = ['meaning 1', 'meaning 2'].map((q) => server.post(path, { q, hybrid }))
  while (asked < 2) await turn()

  const plain = server.post(path, { q: 'plain 1' })
  await gate.untilStarted(1)
  const waiting = server.post(path, { q: 'plain 2' })
  await untilWaiting(server, 1)
  answerAll()
  for (let running = 1; running <= 4; running++) {
    await gate.untilStarted(running)
    gate.open()
  }
  for (const one of [plain, waiting, ...embedded]) t.is((await one).status, 200)
  t.is(gate.started[0], 'plain 1')
})

test('a client that disconnects during embedding leaves no slot occupied', async (t) => {
  let asked: () => void = () => undefined
  const wasAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const provider = await startProvider(t, () => {
    asked()
    return null
  })
  const server = await startServer(t, {
    searchesRunningMax: 1,
    searchesWaitingMax: 1,
    features: ['metrics'],
    allowedNetworks: ['127.0.0.0/8'],
  })
  const rest = { source: 'rest', url: provider.url, request: '{{text}}', response: '{{embedding}}' }
  const settings = { embedders: { g: { ...rest, dimensions: 2 } }, searchCutoffMs: 60_000 }
  await server.settle(t, server.patch('/indexes/a/settings', settings))
  const leaving = request(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  }).on('error', () => undefined)
  leaving.end(JSON.stringify({ q: 'meaning', hybrid: { embedder: 'g', semanticRatio: 1 } }))
  await wasAsked
  leaving.destroy()
  t.is((await server.post(path, { q: 'next' })).status, 200)
  const running = 'meilisearch_searches_running 0\n'
  while (!(await server.get('/metrics')).bytes.toString().includes(running)) await turn()
  t.pass()
})

test('a search that fails by one embedder leaves no slot occupied when the other answers later', async (t) => {
  let answerSlow: () => void = () => undefined
  const answered = new Promise<void>((resolve) => {
    answerSlow = resolve
  })
  let asked = 0
  let failed = 0
  const provider = await startProvider(t, async ({ body }) => {
    if (body === 'fails') {
      // The two calls may arrive in any order.
      while (asked <= failed) await turn()
      failed += 1
      return { status: 400, text: 'refused' }
    }
    if (!String(body).startsWith('slow')) return [1, 2]
    asked += 1
    await answered
    return [1, 2]
  })
  const limits = { searchesRunningMax: 2, searchWaitMsMax: 50, features: ['metrics'] as const }
  const server = await startServer(t, { ...limits, allowedNetworks: ['127.0.0.0/8'] })
  const rest = { source: 'rest', url: provider.url, request: '{{text}}', response: '{{embedding}}' }
  const settings = { embedders: { g: { ...rest, dimensions: 2 } }, searchCutoffMs: 60_000 }
  await server.settle(t, server.patch('/indexes/a/settings', settings))
  const hybrid = { embedder: 'g', semanticRatio: 1 }
  for (const q of ['slow 1', 'slow 2', 'slow 3']) {
    const queries = [q, 'fails'].map((q) => ({ indexUid: 'a', q, hybrid }))
    checkError(t, await server.post('/multi-search', { queries }), 400, 'vector_embedding_error')
  }
  t.deepEqual([asked, failed], [3, 3])
  answerSlow()
  const running = 'meilisearch_searches_running 0\n'
  while (!(await server.get('/metrics')).bytes.toString().includes(running)) await turn()
  for (let next = 0; next < 5; next++) t.is((await server.post(path, { q: 'next' })).status, 200)
  t.true((await server.get('/metrics')).bytes.toString().includes(running))
})

test('searches for similar documents have a separate queue', async (t) => {
  const gate = new Gate('similar')
  const limits = { searchesRunningMax: 1, searchesWaitingMax: 0 }
  const server = await startServer(t, { ...limits, wrapEngine: gate.wrap })
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  const like = { id: 1, embedder: 'x' }
  const first = server.post('/indexes/a/similar', like)
  await gate.untilStarted(1)
  checkError(t, await server.post('/indexes/a/similar', like), 503, 'too_many_search_requests')
  checkError(t, await server.get('/indexes/a/similar?id=1&embedder=x'), 503, 'too_many_search_requests')
  t.is((await server.post(path, { q: '' })).status, 200)
  gate.open()
  await first
})
