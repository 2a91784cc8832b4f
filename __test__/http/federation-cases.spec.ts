/** Acceptance cases of federated searches. Source: the API's page on version 1.57. */
import test from 'ava'
import { startServer } from '../support/server.js'

test('a query with an inline rule is sent to its remote with the rule', async (t) => {
  const options = { features: ['network', 'dynamicSearchRules'], allowedNetworks: ['127.0.0.0/8'] } as const
  const [west, east] = await Promise.all([startServer(t, options), startServer(t, options)])
  for (const server of [west, east])
    await server.settle(t, server.post('/indexes/films/documents', [{ id: 1 }, { id: 2 }, { id: 3 }]))
  await west.patch('/network', { self: 'west', remotes: { east: { url: east.url } } })
  const inlineRule = {
    uid: 'r',
    actions: { pin: [{ id: 3, position: 0 }], scale: [{ weight: 0, ids: [1] }] },
  }
  const query = { indexUid: 'films', inlineRule, federationOptions: { remote: 'east' } }
  const sent = { federation: {}, queries: [query] }
  const { body } = await west.post('/multi-search', sent, { headers: { 'meili-include-metadata': 'true' } })
  t.deepEqual(
    body.hits.map(({ id }) => id as number),
    [3, 2],
  )
  t.like(body.metadata, [{ remote: 'east', inlineRuleConditionOutcomes: { satisfiesActiveCondition: true } }])
})

test('a filterable attribute `*` is a name, so other facets are refused', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.patch('/indexes/films/settings', { filterableAttributes: ['*'] }))
  await server.settle(t, server.post('/indexes/films/documents', [{ id: 1, kind: 'a' }]))
  const search = (facets: string[]) => server.post('/indexes/films/search', { facets })
  t.is((await search(['bogus'])).body.code, 'invalid_search_facets')
  t.deepEqual((await search(['*'])).body.facetDistribution, {})
})

test('sort rules behind relevancy rules order the hits of all queries', async (t) => {
  const server = await startServer(t)
  const settings = { rankingRules: ['words', 'sort', 'exactness'], sortableAttributes: ['year'] }
  await server.settle(t, server.patch('/indexes/films/settings', settings))
  const films = [
    { id: 1, title: 'red sea', year: 1990 },
    { id: 2, title: 'red seas', year: 2000 },
    { id: 3, title: 'red', year: 2020 },
    { id: 4, title: 'blue sea', year: 1995 },
    { id: 5, title: 'blue seas', year: 1995 },
    { id: 6, title: 'blue', year: 2010 },
  ]
  await server.settle(t, server.post('/indexes/films/documents', films))
  const queries = ['red sea', 'blue sea'].map((q) => ({ indexUid: 'films', q, sort: ['year:desc'] }))
  const federation = { showPerformanceDetails: true }
  const { body } = await server.post('/multi-search', { federation, queries })
  t.deepEqual(
    body.hits.map(({ id }) => id as number),
    [2, 4, 5, 1, 3, 6],
  )
  const steps = Object.keys(body.performanceDetails as object)
  for (const step of ['search > query 0 > keyword ranking', 'search > query 1 > keyword ranking', 'search'])
    t.true(steps.includes(step), `${step} of ${steps}`)
  t.false(steps.includes('search > keyword ranking'))
})
