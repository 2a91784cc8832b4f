import test, { type ExecutionContext } from 'ava'
import type { SearchRequest } from '../../ts/engine/index.js'
import { RuleFilters } from '../../ts/operations/index.js'
import { completeRequest } from '../support/engine.js'
import { checkRefusals } from '../support/refusals.js'
import { startServer, type TestBody, type TestServer } from '../support/server.js'
import {
  acceptedRules,
  effects,
  films,
  inline,
  refusedInline,
  refusedRules,
  rulePath,
  vectors,
} from './search-rules-cases.js'

const withMetadata = { headers: { 'meili-include-metadata': 'true' } }
const features = ['dynamicSearchRules', 'network'] as const

/** A server with the films in three indexes: as they are, sorted first, and with vectors. */
async function filmServer(t: ExecutionContext): Promise<TestServer> {
  const server = await startServer(t, { features })
  const settings = { filterableAttributes: ['series', 'year'], sortableAttributes: ['year'] }
  const sortFirst = { rankingRules: ['sort', 'words', 'typo', 'proximity', 'attribute', 'exactness'] }
  const embedders = { own: { source: 'userProvided', dimensions: 2 } }
  const meant = films.map((film) => ({
    ...film,
    _vectors: { own: vectors[film.id as keyof typeof vectors] },
  }))
  for (const [uid, more, documents] of [
    ['films', {}, films],
    ['sorted', sortFirst, films],
    ['vectors', { embedders }, meant],
  ] as const) {
    await server.settle(t, server.patch(`/indexes/${uid}/settings`, { ...settings, ...more }))
    await server.settle(t, server.post(`/indexes/${uid}/documents`, documents))
  }
  return server
}

/** Replaces all rules. */
async function setRules(t: ExecutionContext, server: TestServer, rules: object): Promise<void> {
  await server.settle(t, server.delete('/dynamic-search-rules'))
  for (const [uid, rule] of Object.entries(rules))
    await server.settle(t, server.patch(`/dynamic-search-rules/${uid}`, rule))
}

const idsOf = ({ hits }: { readonly hits: readonly TestBody[] }): string => hits.map(({ id }) => id).join('')

test('rules pin, scale and hide documents', async (t) => {
  const server = await filmServer(t)
  const order = new Map<string, string>()
  for (const { name, rules, index = 'films', search, total, facets, details = {} } of effects) {
    await setRules(t, server, rules)
    const shown = { showRankingScore: true, showRankingScoreDetails: true }
    const path = `/indexes/${index}/search`
    const { status, body } = await server.post(path, { ...search, ...shown })
    t.is(status, 200, `${name}: ${body.message}`)
    order.set(name, idsOf(body))
    if (total !== undefined) t.is(body.estimatedTotalHits ?? body.totalHits, total, name)
    if (facets !== undefined) t.deepEqual(body.facetDistribution as object, facets, name)
    for (const [id, { wordsAt, ...expected }] of Object.entries(details)) {
      const found = body.hits.find((hit) => hit.id === id)?._rankingScoreDetails as TestBody
      for (const [key, value] of Object.entries(expected)) t.deepEqual(found[key], value, `${name}: ${id}`)
      if (wordsAt !== undefined) t.is((found.words as TestBody).order, wordsAt, `${name}: ${id}`)
    }
  }
  t.deepEqual(order, new Map(effects.map(({ name, ids }) => [name, ids])))
})

test('scores are those before scaling, and facet search, federation and explanations follow rules', async (t) => {
  const server = await filmServer(t)
  const q = 'batman and superman'
  const scores = async (): Promise<unknown> => {
    const { body } = await server.post('/indexes/films/search', { q, showRankingScore: true })
    return Object.fromEntries(body.hits.map(({ id, _rankingScore }) => [id, _rankingScore]))
  }
  const plain = await scores()
  await setRules(t, server, { r: { actions: { scale: [{ weight: 4, filter: 'series = batman' }] } } })
  t.deepEqual(await scores(), plain)

  const queries = [q, 'robin'].map((one) => ({ indexUid: 'films', q: one, showRankingScore: true }))
  const federated = (await server.post('/multi-search', { federation: {}, queries })).body
  t.is(idsOf(federated).slice(0, 2), 'ad')
  for (const { id, _rankingScore, _federation } of federated.hits)
    t.is(
      (_federation as TestBody).weightedRankingScore as number,
      (_rankingScore as number) * ('ad'.includes(String(id)) ? 4 : 1),
    )

  await setRules(t, server, { r: { actions: { pin: [{ id: 'a', position: 0 }] } } })
  const pinned = (await server.post('/multi-search', { federation: {}, queries })).body
  t.is(idsOf(pinned), 'abcd')

  await setRules(t, server, { hider: { actions: { scale: [{ weight: 0, ids: ['b'] }] } } })
  const facets = await server.post('/indexes/films/facet-search', { facetName: 'series' })
  t.deepEqual(
    (facets.body.facetHits as TestBody[]).map(({ value }) => value),
    ['batman', 'other'],
  )
  const { body } = await server.post('/indexes/films/explain', { id: 'b', q: 'batman' })
  t.deepEqual([body.isHit, body.reasons], [false, [{ kind: 'rule', uid: 'hider' }]] as never)
})

test('a filter that an index cannot evaluate is reported once', async (t) => {
  const server = await startServer(t, { features })
  await server.settle(t, server.post('/indexes/films/documents', films))
  const { engine, tasks } = server.parts
  const warnings: object[] = []
  const warned = new Promise<void>((resolve) => {
    const log = { warn: (facts: object) => resolve(void warnings.push(facts)) }
    const filters = new RuleFilters(engine, log)
    const scales = ['title = x'].map((filter) => ({ ruleUid: 'r', weight: 2, ids: [], filter }))
    const request = { ...completeRequest({}), scales } as unknown as SearchRequest
    for (const _ of [1, 2, 3]) filters.check(tasks.index('films')!, request, undefined)
    filters.check(tasks.index('films')!, request, 'r')
  })
  await warned
  t.deepEqual(warnings, [{ index: 'films', rule: 'r', error: 'invalid_search_filter' }])
})

test('changes of rules are validated and shown in their present form', async (t) => {
  const server = await startServer(t, { features })
  const made = await server.settle(
    t,
    server.patch(rulePath, { actions: { pin: [{ id: 'a', position: 0 }] } }),
  )
  t.deepEqual(made.details, {
    rule: { actions: { pin: [{ id: 'a', position: 0 }] } },
    updatedRules: 1,
  } as never)
  t.deepEqual((await server.get(rulePath)).body, {
    uid: 'r',
    lastUpdatedAt: made.enqueuedAt,
    active: true,
    conditions: {},
    actions: { pin: [{ id: 'a', position: 0 }] },
  } as never)
  await checkRefusals(t, server, [
    ...refusedRules.map(([body, code, names]) => ({
      method: 'PATCH',
      path: rulePath,
      body,
      code,
      ...(names !== undefined && { names }),
    })),
    {
      method: 'PATCH',
      path: '/dynamic-search-rules/__meilisearch_metadata',
      body: { actions: { pin: [] } },
      code: 'bad_request',
      names: 'reserved',
    },
    {
      method: 'GET',
      path: '/dynamic-search-rules/__meilisearch_metadata',
      code: 'dynamic_search_rule_not_found',
      status: 404,
    },
  ])
  for (const [body, expected] of acceptedRules) {
    await server.settle(t, server.patch(rulePath, body))
    const rule = (await server.get(rulePath)).body
    for (const [key, value] of Object.entries(expected)) t.deepEqual(rule[key], value, JSON.stringify(body))
  }
})

test('an inline rule acts in its own search, which tells the outcome of each condition', async (t) => {
  const server = await filmServer(t)
  const path = '/indexes/films/search'
  for (const { rule, search, ids, outcomes } of inline) {
    const body = { ...search, inlineRule: { uid: 'i', ...rule } }
    const answer = await server.post(path, body, withMetadata)
    t.is(answer.status, 200, `${JSON.stringify(body)}: ${answer.body.message}`)
    t.is(idsOf(answer.body), ids, JSON.stringify(body))
    const { inlineRuleConditionOutcomes } = answer.body.metadata as TestBody
    t.deepEqual(inlineRuleConditionOutcomes as object, outcomes, JSON.stringify(body))
  }
  t.is((await server.get('/dynamic-search-rules/i')).status, 404)

  await setRules(t, server, { r: { actions: { pin: [{ id: 'a', position: 0 }] } } })
  const own = { uid: 'r', actions: { pin: [{ id: 'c', position: 0 }] } }
  t.is(idsOf((await server.post(path, { q: 'superman', inlineRule: own })).body), 'cb')
  t.is(idsOf((await server.post(path, { q: 'superman' })).body), 'ab')

  const queries = [{ q: 'superman' }, { q: 'robin', inlineRule: own }].map((query) => ({
    indexUid: 'films',
    ...query,
  }))
  const { results } = (await server.post('/multi-search', { queries }, withMetadata)).body
  t.deepEqual(results.map(idsOf as never), ['ab', 'c'])
  const outcomesOf = (all: readonly TestBody[]) =>
    all.map(({ inlineRuleConditionOutcomes }) => inlineRuleConditionOutcomes)
  const expected = [undefined, { satisfiesActiveCondition: true }]
  t.deepEqual(outcomesOf(results.map(({ metadata }) => metadata as TestBody)), expected)
  const federated = (await server.post('/multi-search', { federation: {}, queries }, withMetadata)).body
  t.deepEqual(outcomesOf(federated.metadata as TestBody[]), expected)

  await checkRefusals(t, server, [
    ...refusedInline.map(([inlineRule, names]) => ({
      path,
      body: { inlineRule },
      code: 'invalid_search_inline_rule',
      names,
    })),
    { method: 'GET', path: `${path}?inlineRule=x`, code: 'bad_request' },
  ])
})
