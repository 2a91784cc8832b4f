/** Limits the requests to a provider per minute. */
import { setImmediate as turnOfLoop } from 'node:timers/promises'
import test from 'ava'
import type { Outbound } from '../../ts/outbound/index.js'
import { type Answer, bare, single, template, world } from './embedding-world.js'

/** A clock moved by the test, and the functions waiting for it. */
function clock() {
  let time = performance.now()
  const waiting: (() => void)[] = []
  return {
    now: () => time,
    waiting,
    move(ms: number) {
      time += ms
      for (const end of waiting.splice(0)) end()
    },
  }
}

const numbered = (count: number) => Array.from({ length: count }, (_, id) => ({ id, t: `text ${id}` }))

test('requests for documents are spaced evenly, including retries and requests of other indexes', async (t) => {
  const { now, move } = clock()
  const sentAt: number[] = []
  const outbound: Outbound = {
    async call() {
      sentAt.push(now())
      const answer = sentAt.length === 4 ? { status: 500, body: 'not now' } : { status: 200, body: '[1,0]' }
      return { ...answer, headers: {}, body: Buffer.from(answer.body) }
    },
    pass: () => Promise.reject(new Error('nothing is passed on')),
    stream: () => Promise.reject(new Error('an embedder reads no stream')),
    close: async () => undefined,
  }
  // An allowed request is sent before the clock moves.
  const wait = async (ms: number) => {
    await turnOfLoop()
    move(ms)
  }
  const embedder = { ...single, ...template }
  const { server, provider, add } = await world(t, bare, embedder, {
    requestsPerMinute: 60,
    now,
    wait,
    outbound,
  })
  const other = { embedders: { g: { ...embedder, url: provider.url } } }
  await server.settle(t, server.patch('/indexes/other/settings', other))
  const [added] = await Promise.all([
    add(...numbered(10)),
    server.settle(t, server.post('/indexes/other/documents', numbered(10))),
  ])
  t.is(added.status, 'succeeded')
  t.is(sentAt.length, 21)
  // At most 50 ms of a late timer are caught up.
  for (const [later, at] of sentAt.entries())
    for (const [earlier, before] of sentAt.slice(0, later).entries())
      t.true(at - before >= (later - earlier) * 1_000 - 50, `${earlier} to ${later}: ${at - before} ms`)
})

test('a search precedes waiting documents, and each provider has a separate rate', async (t) => {
  const { now, move, waiting } = clock()
  const asked: unknown[] = []
  const answer: Answer = (call, number) => {
    asked.push(call.body)
    return bare(call, number)
  }
  const wait = (): Promise<void> => new Promise((resolve) => waiting.push(resolve))
  const embedder = { ...single, ...template }
  const { server, provider, settings, search } = await world(t, answer, embedder, {
    requestsPerMinute: 1,
    now,
    wait,
  })
  await server.settle(t, server.patch('/indexes/i/settings', { searchCutoffMs: 600_000 }))
  await settings({ mine: { ...embedder, url: provider.url, apiKey: 'another-account' } })
  const added = server.settle(
    t,
    server.post('/indexes/i/documents', [
      { id: 1, t: 'first', _vectors: { mine: [1, 0] } },
      { id: 2, t: 'second', _vectors: { mine: [1, 0] } },
    ]),
  )
  while (waiting.length < 1 || asked.length < 1) await new Promise((resolve) => setTimeout(resolve, 5))
  const ofAnother = await search({ q: 'other', hybrid: { embedder: 'mine', semanticRatio: 1 } })
  t.is(ofAnother.status, 200)
  const found = search({ q: 'query', hybrid: { embedder: 'g', semanticRatio: 1 } })
  while (waiting.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  move(61_000)
  t.is((await found).status, 200)
  while (waiting.length < 1) await new Promise((resolve) => setTimeout(resolve, 5))
  move(61_000)
  t.is((await added).status, 'succeeded')
  t.deepEqual(asked, ['first', 'other', 'query', 'second'])
})

test('a search that would wait beyond its time limit is refused, or answered by words', async (t) => {
  const { now, move } = clock()
  const wait = async (ms: number) => move(ms)
  const embedder = { ...single, ...template }
  const { add, search, provider } = await world(t, bare, embedder, { requestsPerMinute: 1, now, wait })
  t.is((await add({ id: 1, t: 'first' })).status, 'succeeded')
  const refused = await search({ q: 'first', hybrid: { embedder: 'g', semanticRatio: 1 } })
  t.deepEqual([refused.status, refused.body.code], [400, 'vector_embedding_error'])
  t.regex(refused.body.message, /--embedder-requests-per-minute/)
  const byWords = await search({ q: 'first', hybrid: { embedder: 'g', semanticRatio: 0.9 } })
  t.like(byWords.body, { hits: [{ id: 1 }], semanticHitCount: 0 })
  t.is(provider.calls.length, 1)
})

test('the waiting requests of a canceled batch are dropped', async (t) => {
  const { now, move, waiting } = clock()
  const wait = (_ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      waiting.push(resolve)
      signal?.addEventListener('abort', () => reject(signal.reason))
    })
  const embedder = { ...single, ...template }
  const { server, provider, add } = await world(t, bare, embedder, { requestsPerMinute: 1, now, wait })
  const { taskUid } = (await server.post('/indexes/i/documents', numbered(50))).body
  // A cancelation also ends the first request, even before it reaches the provider.
  while (waiting.length < 1 || provider.calls.length < 1)
    await new Promise((resolve) => setTimeout(resolve, 5))
  await server.settle(t, server.post(`/tasks/cancel?uids=${taskUid}`))
  t.is((await server.get(`/tasks/${taskUid}`)).body.status, 'canceled')
  waiting.length = 0
  const added = add({ id: 'next', t: 'next' })
  while (waiting.length < 1) await new Promise((resolve) => setTimeout(resolve, 5))
  move(61_000)
  t.is((await added).status, 'succeeded')
  t.deepEqual(
    provider.calls.map(({ body }) => body),
    ['text 0', 'next'],
  )
})
