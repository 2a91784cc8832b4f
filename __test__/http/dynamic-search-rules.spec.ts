import test, { type ExecutionContext } from 'ava'
import { checkRefusals } from '../support/refusals.js'
import { startServer, type TestServer } from '../support/server.js'

const start = (t: ExecutionContext): Promise<TestServer> =>
  startServer(t, { features: ['dynamicSearchRules', 'network'] })

test('rules are created, changed and removed by tasks, and listed newest first', async (t) => {
  const server = await start(t)
  const made = await server.settle(
    t,
    server.patch('/dynamic-search-rules/noir', { actions: { pin: [{ id: 7, position: 1 }] } }),
  )
  t.like(made, { type: 'dsrUpdate', indexUid: '.meili_dsr' })
  t.deepEqual(made.details, {
    rule: { actions: { pin: [{ id: '7', position: 1 }] } },
    updatedRules: 1,
  } as object as typeof made.details)
  await server.settle(
    t,
    server.patch('/dynamic-search-rules/summer', { description: 'Summer sale', active: false }),
  )
  const changed = { conditions: { query: { words: 'film' } }, precedence: 3 }
  await server.settle(t, server.patch('/dynamic-search-rules/noir?customMetadata=m', changed))
  t.like((await server.get('/dynamic-search-rules/noir')).body, { uid: 'noir', active: true, ...changed })

  const listed = async (body: object): Promise<unknown> =>
    (await server.post('/dynamic-search-rules', body)).body.results.map(({ uid }) => uid)
  t.deepEqual(await listed({}), ['noir', 'summer'])
  t.deepEqual(await listed({ filter: { active: false } }), ['summer'])
  t.deepEqual(await listed({ filter: { query: 'sal' } }), ['summer'])
  t.deepEqual(await listed({ filter: { query: 'film' } }), ['noir'])
  t.deepEqual(await listed({ offset: 1 }), ['summer'])

  t.like((await server.settle(t, server.delete('/dynamic-search-rules/ghost'))).details, { updatedRules: 1 })
  await server.settle(t, server.delete('/dynamic-search-rules/noir'))
  t.is((await server.get('/dynamic-search-rules/noir')).body.code, 'dynamic_search_rule_not_found')
  t.like(await server.settle(t, server.delete('/dynamic-search-rules')), {
    type: 'dsrClear',
    details: { deletedDocuments: 1 },
  })
  t.deepEqual(await listed({}), [])
})

test('every route of rules, and an inline rule, is refused while their feature is off', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  for (const [method, path, body] of [
    ['POST', '/dynamic-search-rules', {}],
    ['DELETE', '/dynamic-search-rules', undefined],
    ['GET', '/dynamic-search-rules/a', undefined],
    ['GET', '/dynamic-search-rules/a/target', undefined],
    ['POST', '/indexes/a/search', { inlineRule: { uid: 'a' } }],
    ['PATCH', '/dynamic-search-rules/a', {}],
    ['DELETE', '/dynamic-search-rules/a', undefined],
  ] as const)
    t.is((await server.request(method, path, { body })).body.code, 'feature_not_enabled', `${method} ${path}`)
})

test('pinned documents take their positions, are counted, and are excluded by filters', async (t) => {
  const server = await start(t)
  await server.settle(t, server.patch('/indexes/films/settings', { filterableAttributes: ['kind'] }))
  const films = [
    { id: 'a', title: 'Stalker', kind: 'old' },
    { id: 'b', title: 'Solaris', kind: 'old' },
    { id: 'c', title: 'Solaris', kind: 'new' },
    { id: 'd', title: 'Mirror', kind: 'old' },
  ]
  await server.settle(t, server.post('/indexes/films/documents', films))
  const at = (id: string, position: number) => ({ id, position })
  const rule = {
    conditions: { query: { words: 'solaris' } },
    actions: { pin: [at('a', 1), at('d', 9), at('ghost', 0)] },
  }
  await server.settle(t, server.patch('/dynamic-search-rules/one', rule))
  const hits = async (body: object): Promise<unknown> => {
    const answer = (await server.post('/indexes/films/search', body)).body
    return [answer.hits.map(({ id }) => id), answer.estimatedTotalHits ?? answer.totalHits]
  }
  t.deepEqual(await hits({ q: 'solaris' }), [['b', 'a', 'c', 'd'], 4])
  t.deepEqual(await hits({ q: 'solaris', offset: 1, limit: 2 }), [['a', 'c'], 4])
  t.deepEqual(await hits({ q: 'solaris', hitsPerPage: 3, page: 2 }), [['d'], 4])
  t.deepEqual(await hits({ q: 'solaris', filter: 'kind = new' }), [['c'], 1])
  t.deepEqual(await hits({ q: 'solaris', distinct: 'kind' }), [['c', 'a', 'd'], 3])
  t.deepEqual(await hits({ q: 'mirror' }), [['d'], 1])
  const detailed = { q: 'solaris', showRankingScoreDetails: true, filter: 'kind = old', facets: ['kind'] }
  const { body } = await server.post('/indexes/films/search', detailed)
  t.deepEqual(body.hits[1]?._rankingScoreDetails, { pin: { order: 0, position: 1 } })
  t.deepEqual(body.facetDistribution, { kind: { old: 3 } })

  const counted = async (rest: object): Promise<unknown> =>
    (await server.post('/indexes/films/facet-search', { facetName: 'kind', ...rest })).body.facetHits
  t.deepEqual(await counted({ q: 'solaris' }), [
    { value: 'new', count: 1 },
    { value: 'old', count: 3 },
  ])
  t.deepEqual(await counted({ q: 'solaris', filter: 'kind = new' }), [{ value: 'new', count: 1 }])

  const queries = [
    { indexUid: 'films', q: 'solaris' },
    { indexUid: 'films', q: 'mirror', federationOptions: { weight: 5 } },
  ]
  const merged = (await server.post('/multi-search', { federation: {}, queries })).body
  t.deepEqual(
    merged.hits.map(({ id }) => id),
    ['b', 'a', 'c', 'd'],
  )
  t.is(merged.estimatedTotalHits, 4)
})

test('long queries are matched with rules, and rules that could never apply are refused', async (t) => {
  const server = await start(t)
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 'a' }, { id: 'b' }]))
  const actions = { pin: [{ id: 'b', position: 0 }] }
  const rule = { conditions: { query: { words: 'b' } }, actions, description: 'b '.repeat(100_000) }
  await server.settle(t, server.patch('/dynamic-search-rules/one', rule))
  const q = 'a b '.repeat(16_250)
  const { body } = await server.post('/indexes/films/search', { q })
  t.deepEqual(body.hits as object, [{ id: 'b' }, { id: 'a' }])
  const listed = async (query: string): Promise<unknown> =>
    (await server.post('/dynamic-search-rules', { filter: { query } })).body.total
  t.is(await listed('b '.repeat(100_000)), 1)
  t.is(await listed(q), 0)
  const many = Array.from({ length: 100 }, () => ({ indexUid: 'films', q: q.slice(0, 400) }))
  const { status, body: all } = await server.post('/multi-search', { queries: many })
  t.is(status, 200)
  t.true(
    all.results.every(({ hits }: { hits: unknown }) => JSON.stringify(hits) === '[{"id":"b"},{"id":"a"}]'),
  )

  const conditions = (rest: object) => ({
    method: 'PATCH',
    path: '/dynamic-search-rules/two',
    body: { conditions: rest },
    code: 'invalid_dynamic_search_rule_conditions',
  })
  await checkRefusals(t, server, [
    { ...conditions({ query: { words: 'a '.repeat(2049) } }), names: '4098' },
    conditions({ filter: { values: { genre: 'a'.repeat(70_000) } } }),
  ])
  t.is((await server.get('/dynamic-search-rules/two')).status, 404)
})
