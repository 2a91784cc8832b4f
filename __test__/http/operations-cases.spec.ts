// Acceptance cases of operations §21 that no other spec covers: 15 and 16 (search queue), 26 and 27 (metrics), 43
// (sizes). `search.spec.ts` lists the specs of the search cases; 8 and 25 are in `e2e/daemon.spec.ts`.
import test from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { checkError } from '../support/refusals.js'
import { startServer } from '../support/server.js'

const masterKey = 'a-master-key-of-20-b'

/** Blocks the searches of an engine until they are released. */
function heldSearches() {
  let open = (): void => undefined
  let begin = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const wrapEngine = (engine: Engine): Engine =>
    new Proxy(engine, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'search') return value.bind(target)
        return async (...given: Parameters<Engine['search']>) => {
          begin()
          await opened
          return target.search(...given)
        }
      },
    })
  return { wrapEngine, open, begun }
}

test('while all slots are taken, searches and fetches are refused, similar documents and single documents are not', async (t) => {
  const { wrapEngine, open, begun } = heldSearches()
  const limits = { searchesRunningMax: 1, searchesWaitingMax: 0 }
  const server = await startServer(t, { ...limits, wrapEngine })
  const embedders = { own: { source: 'userProvided', dimensions: 2 } }
  await server.settle(t, server.patch('/indexes/plants/settings', { embedders }))
  const vectors = (own: readonly number[]) => ({ _vectors: { own } })
  const plants = [
    { id: 1, ...vectors([1, 0]) },
    { id: 2, ...vectors([0, 1]) },
  ]
  await server.settle(t, server.post('/indexes/plants/documents', plants))
  const running = server.post('/indexes/plants/search', {})
  await begun

  const refused = await server.post('/indexes/plants/search', {})
  checkError(t, refused, 503, 'too_many_search_requests')
  t.is(refused.headers['retry-after'], '10')
  t.is((await server.post('/indexes/plants/similar', { id: 1, embedder: 'own' })).status, 200)

  checkError(t, await server.post('/indexes/plants/documents/fetch', {}), 503, 'too_many_search_requests')
  t.is((await server.get('/indexes/plants/documents/1')).status, 200)
  await server.patch('/experimental-features', { disableDocumentsFetchQueue: true })
  t.is((await server.post('/indexes/plants/documents/fetch', {})).status, 200)
  open()
  t.is((await running).status, 200)
})

test('metrics need their feature, and a key that is not limited to indexes', async (t) => {
  const server = await startServer(t, { masterKey })
  checkError(t, await server.get('/metrics'), 400, 'feature_not_enabled')
  await server.patch('/experimental-features', { metrics: true })
  const limited = { indexes: ['plants'], expiresAt: null }
  const named = await server.post('/keys', { ...limited, actions: ['metrics.get'] })
  checkError(t, named, 400, 'index_scoped_api_key_with_global_action')
  for (const [indexes, status] of [
    [['plants'], 403],
    [['*'], 200],
  ] as const) {
    const { key } = (await server.post('/keys', { indexes, actions: ['*'], expiresAt: null })).body
    const answer = await server.get('/metrics', { headers: { authorization: `Bearer ${key}` } })
    t.is(answer.status, status, indexes.join())
  }
})

test('searches of two indexes count in the series of their route', async (t) => {
  const server = await startServer(t, { features: ['metrics'] })
  for (const uid of ['a', 'b']) {
    await server.settle(t, server.post('/indexes', { uid }))
    await server.post(`/indexes/${uid}/search`, {})
  }
  const series = (await server.get('/metrics')).bytes
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('meilisearch_http_requests_total') && line.includes('/search'))
  t.deepEqual(series, [
    'meilisearch_http_requests_total{method="POST",path="/indexes/{index_uid}/search",status="200"} 2',
  ])
})

test('sizes have units on request, and a key sees only its indexes', async (t) => {
  const server = await startServer(t, { masterKey })
  for (const uid of ['plants', 'birds']) await server.settle(t, server.post('/indexes', { uid }))
  const { databaseSize } = (await server.get('/stats?sizeFormat=human')).body
  t.regex(String(databaseSize), /^\d+(\.\d\d?)? [KM]iB$/)
  checkError(t, await server.get('/stats?sizeFormat=big'), 400, 'invalid_stats_size_format')
  const body = { indexes: ['birds'], actions: ['stats.get'], expiresAt: null }
  const { key } = (await server.post('/keys', body)).body
  const seen = (await server.get('/stats', { headers: { authorization: `Bearer ${key}` } })).body
  t.deepEqual(Object.keys(seen.indexes as object), ['birds'])
})
