import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { startServer, type TestServer, type TestServerOptions } from '../support/server.js'

const start = (t: ExecutionContext, options: TestServerOptions = {}): Promise<TestServer> =>
  startServer(t, { features: ['network'], allowedNetworks: ['127.0.0.0/8'], ...options })

/** A foreign server. It is healthy unless `health` overrides this. */
async function stranger(
  t: ExecutionContext,
  answer: RequestListener,
  health: RequestListener = (_request, reply) => void reply.end('{"status":"available"}'),
): Promise<string> {
  const server = createServer((request, reply) =>
    (request.url === '/health' ? health : answer)(request, reply),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Films of three countries on three servers. The first one has the others as remotes. */
async function archive(t: ExecutionContext, options: TestServerOptions = {}) {
  const [west, east, south] = await Promise.all([start(t, options), start(t), start(t)])
  const films = [
    [
      { id: 1, title: 'Solaris', year: 2002, genre: 'drama' },
      { id: 2, title: 'Stars', year: 1978, genre: 'war' },
    ],
    [
      { id: 1, title: 'Solaris', year: 1972, genre: 'drama' },
      { id: 3, title: 'Solaris and the sea', year: 1975, genre: 'sea' },
    ],
    [{ id: 9, title: 'The planet Solaris', year: 1990, genre: 'drama' }],
  ]
  for (const [i, server] of [west, east, south].entries()) {
    const settings = { filterableAttributes: ['genre', 'year'], sortableAttributes: ['year'] }
    await server.settle(t, server.patch('/indexes/films/settings', settings))
    await server.settle(t, server.post('/indexes/films/documents', films[i]))
  }
  const remotes = { east: { url: `${east.url}/` }, south: { url: south.url } }
  const { status } = await west.patch('/network', { self: 'west', remotes })
  t.is(status, 200)
  return { west, east, south }
}

const query = (remote: string | null, rest: object = {}) => ({
  indexUid: 'films',
  q: 'solaris',
  ...rest,
  ...(remote !== null && { federationOptions: { remote } }),
})
const everywhere = (rest: object = {}) => [query('west', rest), query('east', rest), query('south', rest)]
const places = ({ hits }: { readonly hits: readonly Readonly<Record<string, unknown>>[] }): unknown =>
  hits.map(({ id, _federation }) => {
    const { remote, queriesPosition } = _federation as Record<string, unknown>
    return [remote, queriesPosition, id]
  })

test('hits of three servers are merged into one list, as if one had ranked them', async (t) => {
  const { west } = await archive(t)
  const { body, status } = await west.post('/multi-search', { federation: {}, queries: everywhere() })
  t.is(status, 200, JSON.stringify(body))
  t.deepEqual(places(body), [
    ['west', 0, 1],
    ['east', 1, 1],
    ['east', 1, 3],
    ['south', 2, 9],
  ])
  t.deepEqual([body.estimatedTotalHits, body.remoteErrors], [4, {}])
  t.deepEqual(Object.keys(body.hits[0]?._federation as object), [
    'indexUid',
    'queriesPosition',
    'weightedRankingScore',
    'remote',
  ])
  const sorted = await west.post('/multi-search', {
    federation: { limit: 2, offset: 1 },
    queries: everywhere({ q: '', sort: ['year:asc'] }),
  })
  t.deepEqual(
    sorted.body.hits.map(({ year }) => year),
    [1975, 1978],
  )
  t.deepEqual([sorted.body.offset, sorted.body.limit, sorted.body.estimatedTotalHits], [1, 2, 5])
  const paged = await west.post('/multi-search', {
    federation: { page: 2, hitsPerPage: 3 },
    queries: everywhere({ q: '', sort: ['year:asc'] }),
  })
  t.like(paged.body, { page: 2, hitsPerPage: 3, totalPages: 2, totalHits: 5 })
  t.deepEqual(
    paged.body.hits.map(({ year }) => year),
    [1990, 2002],
  )
})

test('weights, facets, distinct and metadata apply to all servers', async (t) => {
  const { west } = await archive(t)
  const [own, east, south] = everywhere()
  const weighted = { ...south, federationOptions: { remote: 'south', weight: 9 } }
  const heavy = await west.post('/multi-search', { federation: {}, queries: [own, east, weighted] })
  t.is(heavy.body.hits[0]?.id, 9)

  const facets = { facetsByIndex: { films: ['genre', 'year'] } }
  const apart = (await west.post('/multi-search', { federation: facets, queries: everywhere() })).body
  t.deepEqual(apart.facetsByIndex, {
    films: {
      distribution: { genre: { drama: 3, sea: 1 }, year: { 1972: 1, 1975: 1, 1990: 1, 2002: 1 } },
      stats: { year: { min: 1972, max: 2002 } },
    },
  })
  const federation = { ...facets, mergeFacets: { maxValuesPerFacet: 1 } }
  const merged = (await west.post('/multi-search', { federation, queries: everywhere() })).body
  t.deepEqual(merged.facetDistribution, { genre: { drama: 3 }, year: { 1972: 1 } })
  t.deepEqual(merged.facetStats, { year: { min: 1972, max: 2002 } })

  const distinct = await west.post('/multi-search', {
    federation: { distinct: 'genre' },
    queries: everywhere(),
  })
  t.deepEqual(
    distinct.body.hits.map(({ genre }) => genre),
    ['drama', 'sea'],
  )
  const headers = { 'meili-include-metadata': 'true' }
  const described = await west.post('/multi-search', { federation: {}, queries: everywhere() }, { headers })
  t.deepEqual(
    (described.body.metadata as Record<string, unknown>[]).map(({ remote, indexUid, primaryKey }) => [
      remote,
      indexUid,
      primaryKey,
    ]),
    [
      ['west', 'films', 'id'],
      ['east', 'films', 'id'],
      ['south', 'films', 'id'],
    ],
  )
})

test('a server that is down, slow or answers garbage does not affect the hits of others', async (t) => {
  const { west } = await archive(t, { remoteSearchMsMax: 3000 })
  let calls = 0
  const gone = await stranger(t, (request) => request.socket.destroy())
  const slow = await stranger(t, () => undefined)
  const broken = await stranger(t, (_, answer) => {
    calls++
    answer.writeHead(500).end('out of order')
  })
  const garbled = await stranger(t, (_, answer) => void answer.end('<html>'))
  const empty = await stranger(
    t,
    (_, answer) => void answer.end('{"hits":[{"id":1}],"estimatedTotalHits":1}'),
  )
  const strict = await stranger(t, (_, answer) => void answer.writeHead(403).end('{}'))
  const picky = await stranger(t, (_, answer) => void answer.writeHead(400).end('{"code":"bad_request"}'))
  const nested = await stranger(
    t,
    (_, answer) =>
      void answer.end(
        `{"hits":[],"estimatedTotalHits":0,"processingTimeMs":0,"more":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`,
      ),
  )
  let longCalls = 0
  const long = await stranger(t, (_, answer) => {
    longCalls++
    answer.end(`[${'1,'.repeat(100_000)}1]`)
  })
  const urls = { gone, slow, broken, garbled, empty, strict, picky, nested, long }
  const remotes = Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url }]))
  await west.patch('/network', { remotes })
  const queries = [query(null), ...Object.keys(urls).map((name) => query(name)), query('south')]
  const { body, status } = await west.post('/multi-search', { federation: {}, queries })
  t.is(status, 200)
  t.deepEqual(places(body), [
    ['west', 0, 1],
    ['south', 10, 9],
  ])
  const errors = body.remoteErrors as Record<string, Record<string, unknown>>
  t.deepEqual(
    Object.entries(errors).map(([name, { code, type }]) => [name, code, type]),
    [
      ['gone', 'remote_could_not_send_request', 'system'],
      ['slow', 'remote_timeout', 'system'],
      ['broken', 'remote_remote_error', 'system'],
      ['garbled', 'remote_bad_response', 'system'],
      ['empty', 'remote_bad_response', 'system'],
      ['strict', 'remote_invalid_api_key', 'auth'],
      ['picky', 'remote_bad_request', 'invalid_request'],
      ['nested', 'remote_bad_response', 'system'],
      ['long', 'remote_bad_response', 'system'],
    ],
  )
  t.is(calls, 4)
  t.is(longCalls, 1, 'a long answer is not asked for again')
  t.regex(String(errors.broken?.message), /out of order/)
  for (const [name, url] of Object.entries(urls)) {
    t.true(name in errors)
    t.false(String(errors[name]?.message).includes(url), name)
  }
})

test('the network shows the health of its remotes', async (t) => {
  const east = await start(t)
  const unasked = (): void => t.fail('only the health is asked for')
  const ill = await stranger(t, unasked, (_request, reply) => void reply.writeHead(503).end())
  const silent = await stranger(t, unasked, () => undefined)
  const west = await start(t)
  const urls = { east: `${east.url}/`, ill, silent, west: 'http://west.example' }
  const remotes = Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url }]))
  const statuses = ({ body }: { readonly body: Readonly<Record<string, unknown>> }): unknown =>
    Object.values(body.remotes as Record<string, { status: string }>).map(({ status }) => status)
  const before = Date.now()
  const [up, down] = ['available', 'unavailable']
  t.deepEqual(statuses(await west.patch('/network', { self: 'west', remotes })), [up, down, down, up])
  t.true(Date.now() - before < 10_000, 'a remote that never answers does not hold up the answer')
  await east.vanish()
  t.deepEqual(statuses(await west.get('/network')), [down, down, down, up])
})

test('a server killed between two searches loses only its own hits', async (t) => {
  const { west, east, south } = await archive(t)
  const ask = async () => (await west.post('/multi-search', { federation: {}, queries: everywhere() })).body
  t.is((await ask()).hits.length, 4)
  // The connection of the first search is broken now.
  await east.vanish()
  const without = await ask()
  t.deepEqual(places(without), [
    ['west', 0, 1],
    ['south', 2, 9],
  ])
  t.is(without.estimatedTotalHits, 2)
  t.like(without.remoteErrors as object, { east: { code: 'remote_could_not_send_request', type: 'system' } })
  await south.vanish()
  const alone = await ask()
  t.deepEqual(places(alone), [['west', 0, 1]])
  t.deepEqual(Object.keys(alone.remoteErrors as object), ['east', 'south'])
})

test('remotes are called with their own key, and with the filter of the tenant', async (t) => {
  const seen: { headers: Record<string, unknown>; body: Record<string, unknown> }[] = []
  const url = await stranger(t, (request, answer) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>
      seen.push({ headers: request.headers, body })
      answer.end('{"hits":[],"processingTimeMs":1,"estimatedTotalHits":0}')
    })
  })
  const server = await start(t)
  await server.patch('/network', { remotes: { far: { url, searchApiKey: 'their-key' } } })
  const federation = { offset: 3, limit: 4, mergeFacets: {}, facetsByIndex: { films: ['genre'] } }
  const federationOptions = { remote: 'far', weight: 2 }
  const queries = [{ indexUid: 'films', q: 'a', filter: 'year > 3', federationOptions }]
  const { body } = await server.post('/multi-search', { federation, queries })
  t.deepEqual(body.remoteErrors, {})
  t.deepEqual(seen[0]?.headers.authorization, 'Bearer their-key')
  t.is(seen[0]?.headers['meili-proxy-search'], 'true')
  t.deepEqual(seen[0]?.body.federation, {
    offset: 0,
    limit: 7,
    facetsByIndex: { films: ['genre'] },
    distinct: null,
  })
  const [asked] = seen[0]!.body.queries as Record<string, unknown>[]
  t.like(asked, { indexUid: 'films', q: 'a', filter: 'year > 3' })
  t.deepEqual(asked?.federationOptions, { weight: 2, queryPosition: 0 })
})

test('a search of a remote that is unknown or not allowed, or with the feature off, is refused', async (t) => {
  const plain = await startServer(t)
  t.is(
    (await plain.post('/multi-search', { federation: {}, queries: [query('east')] })).body.code,
    'feature_not_enabled',
  )
  const server = await startServer(t, { features: ['network'] })
  t.is(
    (await server.post('/multi-search', { federation: {}, queries: [query('nowhere')] })).body.code,
    'invalid_multi_search_remote',
  )
  // This address could be an internal service, so it is refused without a call.
  const url = await stranger(t, () => t.fail('a private address was called'))
  await server.patch('/network', { remotes: { inside: { url } } })
  const { body } = await server.post('/multi-search', { federation: {}, queries: [query('inside')] })
  t.like(body.remoteErrors as object, { inside: { code: 'remote_could_not_send_request' } })
})

test('a change of the network keeps unlisted members, and changes nothing if it is invalid', async (t) => {
  const server = await startServer(t, { features: ['network'] })
  const first = (await server.get('/network')).body
  t.is(first.version, '00000000-0000-0000-0000-000000000000')
  const url = 'https://e.example'
  await server.patch('/network', { self: 'west', remotes: { east: { url }, north: { url } } })
  await server.patch('/network', { shards: { a: { remotes: ['east', 'north'] }, b: { remotes: ['east'] } } })
  await server.patch('/network', {
    remotes: { north: { searchApiKey: 's' } },
    shards: { a: { addRemotes: ['x'] } },
  })
  const before = (await server.get('/network')).body
  t.like(before, {
    self: 'west',
    remotes: { north: { url, searchApiKey: 's', writeApiKey: null, status: 'unavailable' } },
    shards: { a: { remotes: ['east', 'north', 'x'] }, b: { remotes: ['east'] } },
  })
  for (const [patch, code] of [
    [{ remotes: { far: { searchApiKey: 'k' } } }, 'missing_network_url'],
    [{ remotes: { far: { url: 'east' } } }, 'invalid_network_url'],
    [{ self: 'other', remotes: { east: { url: null } } }, 'invalid_network_url'],
    [{ remotes: { far: { url, port: 2 } } }, 'invalid_network_remotes'],
    [{ leader: 'west' }, 'requires_enterprise_edition'],
    [{ previousRemotes: {} }, 'unexpected_network_previous_remotes'],
    [{ shard: {} }, 'bad_request'],
  ] as const)
    t.is((await server.patch('/network', patch)).body.code, code, JSON.stringify(patch))
  const steered = await server.post('/network/control', {})
  t.deepEqual([steered.status, steered.body.code], [451, 'requires_enterprise_edition'])
  t.deepEqual((await server.get('/network')).body, before)
  const after = (await server.patch('/network', { remotes: { east: null } })).body
  t.deepEqual(after.shards, { a: { remotes: ['north', 'x'] } })
  t.not(after.version, before.version)
})

test('values of hidden attributes are sent to another instance only if its key may read documents', async (t) => {
  const server = await start(t, { masterKey: 'a-master-key-of-16-bytes' })
  const settings = {
    displayedAttributes: ['id', 'title'],
    sortableAttributes: ['year', 'title', '_geo'],
    filterableAttributes: ['genre', 'title'],
  }
  await server.settle(t, server.patch('/indexes/films/settings', settings))
  const film = { id: 1, title: 'Solaris', year: 1972, genre: 'drama', _geo: { lat: 1, lng: 2 } }
  await server.settle(t, server.post('/indexes/films/documents', [film]))
  const keyFor = async (actions: readonly string[]): Promise<string> =>
    (await server.post('/keys', { actions, indexes: ['films'], expiresAt: null })).body.key
  const searcher = await keyFor(['search'])
  const reader = await keyFor(['search', 'documents.get'])
  const ask = (key: string, rest: object, federation: object = {}) =>
    server.post(
      '/multi-search',
      { federation, queries: [query(null, rest)] },
      { headers: { authorization: `Bearer ${key}`, 'meili-proxy-search': 'true' } },
    )
  const hidden: readonly (readonly [object, object?])[] = [
    [{ sort: ['year:asc'] }],
    [{ sort: ['title:asc', '_geoPoint(1,2):desc'] }],
    [{}, { distinct: 'genre' }],
  ]
  for (const [rest, federation] of hidden) {
    const refused = await ask(searcher, rest, federation)
    t.deepEqual([refused.status, refused.body.code], [403, 'invalid_api_key'], JSON.stringify(rest))
    t.is((await ask(reader, rest, federation)).status, 200)
  }
  t.like((await ask(searcher, { sort: ['title:asc'] }, { distinct: 'title' })).body.hits, [{ id: 1 }])

  await server.settle(t, server.put('/indexes/films/settings/ranking-rules', ['words', 'year:desc']))
  t.is((await ask(searcher, {})).body.code, 'invalid_api_key', 'a ranking rule shows its value too')
  t.like((await ask(reader, {})).body.hits, [{ id: 1 }])
})

test('several remotes together may answer no more than a single one', async (t) => {
  const long = `{"hits":[],"processingTimeMs":1,"estimatedTotalHits":0,"more":[${'[],'.repeat(300_000)}[]]}`
  const url = await stranger(t, (_request, answer) => void answer.end(long))
  const server = await start(t)
  const remotes = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, { url }]))
  await server.patch('/network', { remotes })
  const failed = async (names: readonly string[]): Promise<unknown> => {
    const queries = names.map((name) => query(name))
    const { body } = await server.post('/multi-search', { federation: {}, queries })
    return Object.entries(body.remoteErrors as object).map(([name, { code }]) => [name, code])
  }
  t.deepEqual(await failed(['a']), [])
  const refused = ['a', 'b', 'c'].map((name) => [name, 'remote_bad_response'])
  t.deepEqual(await failed(['a', 'b', 'c']), refused)
})

test('long answers of remotes to concurrent searches share one bound of memory', async (t) => {
  const ends: (() => void)[] = []
  const sent: (() => void)[] = []
  // Longer than the buffers of a connection, so that the server has read most of it when it is sent.
  const begin = `{"hits":[],"processingTimeMs":1,"estimatedTotalHits":0,"more":"${'x'.repeat(12_000_000)}`
  const url = await stranger(t, (_request, answer) => {
    ends.push(() => answer.end('"}'))
    answer.write(begin, () => sent.shift()?.())
  })
  const server = await start(t, { bodiesBytesMax: 13_000_000 })
  await server.patch('/network', { remotes: { a: { url } } })
  const search = () => server.post('/multi-search', { federation: {}, queries: [query('a')] })
  const begun = new Promise<void>((resolve) => sent.push(resolve))
  const first = search()
  await begun
  const second = await search()
  t.deepEqual([second.status, second.body.code], [503, 'too_many_requests'])
  t.regex(String(second.body.message), /too many large answers of remotes at once/)
  ends[0]?.()
  t.deepEqual([(await first).status, (await first).body.remoteErrors], [200, {}])
  const third = search()
  while (ends.length < 3) await new Promise((resolve) => setTimeout(resolve, 5))
  ends[2]?.()
  t.is((await third).status, 200)
})
