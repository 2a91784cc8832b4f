import { Writable } from 'node:stream'
import test from 'ava'
import type { Replicated, ReplicationFigures } from '../../ts/replication/index.js'
import { isTooStale } from '../../ts/replication/replicated.js'
import { checkRefusals } from '../support/refusals.js'
import { alone } from '../support/replicated.js'
import { startServer } from '../support/server.js'

test('the service reports that it runs, and its build', async (t) => {
  const server = await startServer(t)
  for (const path of ['/health', '/ready'])
    t.deepEqual((await server.get(path)).body, { status: 'available' } as never)
  t.deepEqual(Object.keys((await server.get('/')).body), ['status'])
  t.deepEqual(Object.keys((await server.get('/version')).body), ['commitSha', 'commitDate', 'pkgVersion'])
})

const follower: ReplicationFigures = {
  ...{ role: 'follower' as const, position: 7, unsentTransactions: 0, awaySeconds: 0, staleSeconds: 61 },
  ...{ leadConfirmed: null, writer: null, replaceable: null, problem: 'upgrade it' },
}

/** The lag of a follower, and if it is ready. The bound is 60 seconds. */
const lags: readonly (readonly [figures: Partial<ReplicationFigures>, isReady: boolean])[] = [
  [{ staleSeconds: 60 }, true],
  [{ staleSeconds: 61 }, false],
  [{ staleSeconds: null }, false],
  [{ staleSeconds: 3600, awaySeconds: 0.1 }, true],
  [{ staleSeconds: null, awaySeconds: 5 }, true],
]

for (const [lag, isReady] of lags)
  test(`a follower that lags as ${JSON.stringify(lag)} is healthy, and is ready: ${isReady}`, async (t) => {
    const figures: ReplicationFigures = { ...follower, ...lag }
    const replicated: Replicated = {
      ...alone,
      figures: async () => figures,
      isTooStale: () => isTooStale(figures, 60),
      position: async () => null,
      reaches: async () => true,
    }
    const server = await startServer(t, { replicated })
    const answer = { status: 'available', replication: figures }
    const [health, ready] = await Promise.all(['/health', '/ready'].map((path) => server.get(path)))
    t.deepEqual([health?.status, health?.body], [200, answer as never])
    if (isReady) t.deepEqual([ready?.status, ready?.body], [200, answer as never])
    else {
      t.deepEqual([ready?.status, ready?.body.code], [503, 'follower_behind' as never])
      t.regex(String(ready?.body.message), /; upgrade it$/)
    }
  })

test('features are switched separately and are off by default', async (t) => {
  const server = await startServer(t)
  const { body: fresh } = await server.get('/experimental-features')
  t.true(Object.values(fresh).every((flag) => flag === false))
  t.is(Object.keys(fresh).length, 15)
  const { body } = await server.patch('/experimental-features', { containsFilter: true, metrics: null })
  t.deepEqual(body, { ...fresh, containsFilter: true })
  t.deepEqual((await server.patch('/experimental-features', {})).body, body)
  await checkRefusals(t, server, [
    { method: 'PATCH', path: '/experimental-features', body: { ghost: true }, code: 'bad_request' },
    { method: 'PATCH', path: '/experimental-features', body: { metrics: 'true' }, code: 'bad_request' },
    { method: 'PATCH', path: '/experimental-features', body: { metrics: 42 }, code: 'bad_request' },
  ])
  t.deepEqual((await server.get('/experimental-features')).body, body)
})

test('a parameter of a feature that is off is validated first, then refused', async (t) => {
  const server = await startServer(t)
  const off = 'feature_not_enabled'
  await checkRefusals(t, server, [
    { method: 'GET', path: '/network', code: off },
    { method: 'PATCH', path: '/network', body: { self: 3 }, code: 'invalid_network_self' },
    { method: 'PATCH', path: '/network', body: { self: 'a' }, code: off },
    { path: '/logs/stream', body: { mode: 'tamo' }, code: 'bad_request' },
    { path: '/logs/stream', body: {}, code: off },
    { method: 'DELETE', path: '/logs/stream', code: off },
    { path: '/logs/stderr', body: { target: 'loud' }, code: 'bad_request', names: 'loud' },
    { path: '/logs/stderr', body: { target: 'http=debug,warn' }, code: off },
    { path: '/dynamic-search-rules', body: { limit: -1 }, code: 'invalid_dynamic_search_rule_limit' },
    { path: '/dynamic-search-rules', body: {}, code: off },
    {
      method: 'PATCH',
      path: '/dynamic-search-rules/a',
      body: { active: 1 },
      code: 'invalid_dynamic_search_rule_active',
    },
    { method: 'PATCH', path: '/dynamic-search-rules/a', body: {}, code: off },
    {
      method: 'PATCH',
      path: '/dynamic-search-rules/a',
      body: { conditions: { query: { isEmpty: true, words: 'batman' } } },
      code: 'bad_request',
      names: 'batman',
    },
    {
      method: 'PATCH',
      path: '/dynamic-search-rules/a',
      body: { conditions: { time: { start: '2026-02-01T00:00:00Z', end: '2026-01-01T00:00:00Z' } } },
      code: 'bad_request',
    },
    { path: '/render-template', body: {}, code: 'bad_request' },
    { path: '/render-template', body: { template: {} }, code: 'invalid_render_template' },
    { method: 'GET', path: '/chats', code: off },
    { path: '/export', body: { payloadSize: 'abc' }, code: 'invalid_export_payload_size' },
    { path: '/export', body: { indexes: { 'a b': {} } }, code: 'bad_request' },
    { path: '/export', body: { url: 5 }, code: 'invalid_export_url' },
  ])
})

test('unsupported features are refused with an explanation, even while they are on', async (t) => {
  const features = ['network'] as const
  const server = await startServer(t, { features })
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  const code = 'feature_not_enabled'
  const taste = 'requires a service that ranks hits'
  const network = '`useNetwork` is not part of this service; name remotes'
  const personalize = { userContext: 'sailing' }
  await checkRefusals(t, server, [
    { path: '/indexes/a/search', body: { useNetwork: true }, code, names: network },
    { method: 'GET', path: '/indexes/a/search?useNetwork=true', code, names: network },
    { path: '/indexes/a/facet-search', body: { facetName: 'f', useNetwork: true }, code, names: network },
    { path: '/indexes/a/documents/fetch', body: { useNetwork: true }, code, names: network },
    { path: '/multi-search', body: { queries: [{ indexUid: 'a', useNetwork: true }] }, code, names: network },
    {
      path: '/multi-search',
      body: { federation: {}, queries: [{ indexUid: 'a', useNetwork: true }] },
      code,
      names: network,
    },
    { path: '/indexes/a/search', body: { personalize }, code, names: taste },
    { path: '/multi-search', body: { queries: [{ indexUid: 'a', personalize }] }, code, names: taste },
    {
      path: '/multi-search',
      body: { federation: { personalize }, queries: [{ indexUid: 'a' }] },
      code,
      names: taste,
    },
  ])
  t.is((await server.post('/indexes/a/search', { useNetwork: false })).status, 200)
  t.is((await server.post('/indexes/a/documents/fetch', { useNetwork: false })).status, 200)
})

test('the network stores its members and the name of this instance', async (t) => {
  const server = await startServer(t, { features: ['network'] })
  const remotes = { one: { url: 'http://one.example', searchApiKey: 'k' } }
  const { body } = await server.patch('/network', { self: 'zero', remotes })
  t.deepEqual(body.remotes, {
    one: { url: 'http://one.example', searchApiKey: 'k', writeApiKey: null, status: 'unavailable' },
  })
  const { body: merged } = await server.patch('/network', {
    remotes: { one: { writeApiKey: 'w' }, two: null },
  })
  t.like(merged, { self: 'zero', leader: null, shards: {} })
  t.is((await server.get('/network')).body.version, merged.version)
  await checkRefusals(t, server, [
    {
      method: 'PATCH',
      path: '/network',
      body: { leader: 'zero' },
      status: 451,
      code: 'requires_enterprise_edition',
    },
    { method: 'PATCH', path: '/network', body: { remotes: { x: {} } }, code: 'missing_network_url' },
    {
      method: 'PATCH',
      path: '/network',
      body: { remotes: { x: { url: 'y' } } },
      code: 'invalid_network_url',
    },
    {
      method: 'PATCH',
      path: '/network',
      body: { remotes: { x: { port: 1 } } },
      code: 'invalid_network_remotes',
    },
  ])
})

test('features and remotes changed at the same time are all stored', async (t) => {
  const server = await startServer(t, { features: ['network'] })
  const flags = ['metrics', 'logsRoute', 'containsFilter', 'multimodal']
  await Promise.all(flags.map((flag) => server.patch('/experimental-features', { [flag]: true })))
  const { body } = await server.get('/experimental-features')
  t.deepEqual(
    flags.map((flag) => body[flag]),
    [true, true, true, true],
  )
  const remotes = ['a', 'b', 'c']
  const url = 'http://x.example'
  await Promise.all(remotes.map((name) => server.patch('/network', { remotes: { [name]: { url } } })))
  t.deepEqual(Object.keys((await server.get('/network')).body.remotes as object), remotes)
})

test('the log level changes while the service runs', async (t) => {
  let written = ''
  const log = new Writable({
    write(chunk, _encoding, done) {
      written += chunk
      done()
    },
  })
  const server = await startServer(t, { features: ['logsRoute'], log })
  const shows = async (target: string): Promise<boolean> => {
    t.is((await server.post('/logs/stderr', { target })).status, 204, target)
    written = ''
    await server.get('/version')
    // The log line of a request is written before the line of a later one, which is written at any level but off.
    await server.get('/health')
    return written.includes('/version')
  }
  t.false((await server.get('/version')).status !== 200 || written.includes('/version'), 'off at the start')
  for (const [target, isShown] of [
    ['debug', true],
    ['OFF', false],
    ['http=info', true],
    ['tasks=trace', false],
    ['tasks=trace,warn', false],
  ] as const)
    t.is(await shows(target), isShown, target)
  t.is((await server.delete('/logs/stream')).status, 204)
  await checkRefusals(t, server, [
    { path: '/logs/stderr', body: { target: '' }, code: 'bad_request' },
    { path: '/logs/stderr', body: { target: 'info', mode: 'json' }, code: 'bad_request' },
    { path: '/logs/stream', body: { profileMemory: true }, code: 'invalid_settings_typo_tolerance' },
  ])
})
