/** Answers of multi-searches and merged hits of federations. */
import { encodeRequest } from '../../../ts/engine/encoding.js'
import { completeRequest, type SearchAnswer, type SearchBody, type TestEngine } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

export function federation(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  const request = (q: string, rest: SearchBody = {}): Uint8Array =>
    encodeRequest(completeRequest({ q, ...rest }))
  const withTwoIndexes = (title: string, run: Parameters<typeof claim>[1]): void =>
    claim(title, async (t, engine) => {
      for (const index of ['left', 'right'])
        await engine.configure(index, { filterableAttributes: ['kind'], sortableAttributes: ['n'] })
      await engine.put(
        'left',
        { id: 1, t: 'copper kettle', n: 1, kind: 'a' },
        { id: 2, t: 'copper', n: 4, kind: 'b' },
      )
      await engine.put('right', { id: 1, t: 'old copper pot', n: 3, kind: 'a' }, { id: 5, t: 'tin', n: 2 })
      await run(t, engine)
    })
  const federated = async (
    engine: TestEngine,
    queries: readonly (readonly [index: string, request: Uint8Array, weight: number])[],
    rest: object = {},
  ): Promise<SearchAnswer & Readonly<Record<string, unknown>>> => {
    const { body } = await engine.engine.multiSearch(
      queries.map(([index, bytes]) => ({ index, request: bytes })),
      Buffer.from(
        JSON.stringify({
          paging: { kind: 'offset', offset: 0, limit: 20 },
          facetsByIndex: {},
          mergeFacets: null,
          distinct: null,
          showPerformanceDetails: false,
          requestUid: '01900000-0000-7000-8000-000000000000',
          metadata: null,
          weights: queries.map(([, , weight]) => weight),
          positions: queries.map((_, at) => at),
          origin: null,
          showScoreValues: false,
          ...rest,
        }),
      ),
    )
    return JSON.parse(Buffer.from(body).toString()) as SearchAnswer & Readonly<Record<string, unknown>>
  }
  const origins = (answer: SearchAnswer): unknown[] =>
    answer.hits.map(({ id, _federation }) => {
      const { indexUid, queriesPosition } = _federation as { indexUid: string; queriesPosition: number }
      return [indexUid, id, queriesPosition]
    })
  const left = (q: string, rest: SearchBody = {}) =>
    ['left', request(q, { indexUid: 'left', ...rest }), 1] as const
  const right = (q: string, rest: SearchBody = {}) =>
    ['right', request(q, { indexUid: 'right', ...rest }), 1] as const

  withTwoIndexes('multi-search without federation answers each query separately', async (t, engine) => {
    const { body, facts } = await engine.engine.multiSearch(
      [
        { index: 'left', request: request('kettle', { indexUid: 'left' }) },
        { index: 'right', request: request('tin', { indexUid: 'right' }) },
      ],
      null,
    )
    const { results } = JSON.parse(Buffer.from(body).toString()) as {
      results: (SearchAnswer & { indexUid: string })[]
    }
    t.deepEqual(
      results.map(({ indexUid, hits }) => [indexUid, hits.map(({ id }) => id)]),
      [
        ['left', [1]],
        ['right', [5]],
      ],
    )
    t.is(facts.hits, 2)
  })

  withTwoIndexes('a search whose client has disconnected returns at once, degraded', async (t, engine) => {
    const gone = AbortSignal.abort()
    const { facts } = await engine.engine.search('left', request('copper'), gone)
    t.true(facts.degraded)
    const left = { index: 'left', request: request('copper', { indexUid: 'left' }) }
    t.true((await engine.engine.multiSearch([left], null, gone)).facts.degraded)
    t.false((await engine.engine.search('left', request('copper'))).facts.degraded)
  })

  withTwoIndexes('the error of a multi-search names the position of the failed query', async (t, engine) => {
    const queries = [
      { index: 'left', request: request('kettle') },
      { index: 'right', request: request('tin', { filter: 'color = 1' }) },
    ]
    const error = await t.throwsAsync(engine.engine.multiSearch(queries, null), { message: /\.queries\[1\]/ })
    t.is((error as { code?: string } | undefined)?.code, 'invalid_search_filter')
  })

  withTwoIndexes('federated hits are merged by score, ties by query', async (t, engine) => {
    const answer = await federated(engine, [right('copper'), left('copper')])
    t.deepEqual(origins(answer), [
      ['left', 2, 1],
      ['left', 1, 1],
      ['right', 1, 0],
    ])
    t.is(answer.estimatedTotalHits, 3)
  })

  withTwoIndexes(
    'hits for another instance include their instance, index, query and comparison values',
    async (t, engine) => {
      const rest = { positions: [7], origin: { remote: 'east' }, showScoreValues: true, distinct: 'kind' }
      const [hit] = (
        await federated(engine, [left('copper', { sort: ['n:desc'], showRankingScore: true })], rest)
      ).hits
      const { weightedScoreValues, ...place } = hit!._federation as Record<string, unknown>
      t.deepEqual(place, {
        indexUid: 'left',
        queriesPosition: 7,
        weightedRankingScore: hit!._rankingScore,
        remote: 'east',
        distinctValues: ['b'],
      })
      const [relevance, sorted] = weightedScoreValues as [{ score: number }, object]
      t.is(typeof relevance.score, 'number')
      t.deepEqual(sorted, { sort: { ascending: false, value: 4 } })
    },
  )

  withTwoIndexes(
    'federated hits without vectors count as semantic in a search by vector',
    async (t, engine) => {
      const embedders = { v: { source: 'userProvided', dimensions: 2 } }
      await engine.put('left', { id: 1, _vectors: { v: [1, 0] } }, { id: 2, _vectors: { v: null } })
      await engine.configure('left', { embedders })
      const byVector = left('', { hybrid: { embedder: 'v', semanticRatio: 1 }, vector: [1, 0] })
      const answer = await federated(engine, [byVector, right('tin')])
      t.is(answer.hits.length, 3)
      t.is(answer.semanticHitCount, 2)
    },
  )

  withTwoIndexes('a higher weight moves the hits of its query up', async (t, engine) => {
    const [index, bytes] = right('copper')
    const answer = await federated(engine, [left('copper'), [index, bytes, 5]])
    t.deepEqual(origins(answer)[0], ['right', 1, 1])
  })

  withTwoIndexes('a document found twice appears once', async (t, engine) => {
    const answer = await federated(engine, [left('copper'), left('copper kettle')])
    t.deepEqual(origins(answer), [
      ['left', 2, 0],
      ['left', 1, 1],
    ])
    t.is(answer.estimatedTotalHits, 2)
  })

  withTwoIndexes('queries with incomparable orders are refused', async (t, engine) => {
    const rules = ['words', 'n:desc', 'sort']
    await engine.configure('right', { rankingRules: rules, sortableAttributes: ['n'] })
    const byN = (direction: string) => ({ sort: [`n:${direction}`] })
    for (const [queries, isFine] of [
      [[left('copper', byN('asc')), left('kettle', byN('asc'))], true],
      [[left('copper', byN('asc')), left('kettle')], true],
      [[left('copper', byN('asc')), left('kettle', byN('desc'))], false],
      [[left('copper'), left('copper', byN('asc')), left('kettle', byN('desc'))], false],
      [[left('copper', byN('desc')), right('copper')], true],
      [[left('copper', byN('asc')), right('copper')], false],
    ] as const) {
      if (isFine) await t.notThrowsAsync(federated(engine, queries))
      else {
        const error = await t.throwsAsync(federated(engine, queries))
        t.is((error as { code?: string } | undefined)?.code, 'invalid_multi_search_query_ranking_rules')
      }
    }
  })

  withTwoIndexes(
    'orders without words or by a single field are comparable, wherever their rules are',
    async (t, engine) => {
      await engine.configure('right', {
        rankingRules: ['n:desc', 'words', 'sort'],
        sortableAttributes: ['n'],
      })
      const byN = (...directions: string[]) => ({ sort: directions.map((direction) => `n:${direction}`) })
      for (const [queries, expected] of [
        [[left('', byN('desc')), right('')], 'merged'],
        [[left('copper', byN('desc')), right('copper')], 'refused'],
        [[left('', byN('desc')), right('copper')], 'merged'],
        [[left('', byN('asc')), right('')], 'refused'],
        // A repeated sort field has no further effect.
        [[left('', byN('desc', 'asc')), left('', byN('desc', 'desc'))], 'merged'],
        [[right('', byN('asc')), right('', byN('desc'))], 'merged'],
      ] as const) {
        const outcome = await federated(engine, queries).then(
          () => 'merged',
          ({ code }) => (code === 'invalid_multi_search_query_ranking_rules' ? 'refused' : code),
        )
        t.is(outcome, expected, queries.map(([index, bytes]) => `${index} ${Buffer.from(bytes)}`).join('\n'))
      }
    },
  )

  withTwoIndexes('sorted queries are merged by their sort values', async (t, engine) => {
    const sort = { sort: ['n:desc'] }
    const answer = await federated(engine, [left('', sort), right('', sort)])
    t.deepEqual(
      answer.hits.map(({ n }) => n),
      [4, 3, 2, 1],
    )
    const error = await t.throwsAsync(federated(engine, [left('', sort), right('', { sort: ['n:asc'] })]))
    t.is((error as { code?: string } | undefined)?.code, 'invalid_multi_search_query_ranking_rules')
  })

  withTwoIndexes('facets of a federation are returned by index or merged', async (t, engine) => {
    const facetsByIndex = { left: ['kind'], right: ['kind'] }
    const byIndex = await federated(engine, [left(''), right('')], { facetsByIndex })
    t.deepEqual(byIndex.facetsByIndex, {
      left: { distribution: { kind: { a: 1, b: 1 } }, stats: {} },
      right: { distribution: { kind: { a: 1 } }, stats: {} },
    })
    const mergeFacets = { maxValuesPerFacet: 1 }
    const merged = await federated(engine, [left(''), right('')], { facetsByIndex, mergeFacets })
    t.deepEqual(merged.facetDistribution, { kind: { a: 2 } })
  })

  withTwoIndexes(
    'an index with an empty facet list is listed without values, an index with null is omitted',
    async (t, engine) => {
      const facetsByIndex = { left: [], right: null }
      const byIndex = await federated(engine, [left(''), right('')], { facetsByIndex })
      t.deepEqual(byIndex.facetsByIndex, { left: { distribution: {}, stats: {} } })
      const mergeFacets = { maxValuesPerFacet: null }
      const merged = await federated(engine, [left(''), right('')], { facetsByIndex, mergeFacets })
      t.deepEqual([merged.facetDistribution, merged.facetStats], [{}, {}])
      const none = await federated(engine, [left('')], { facetsByIndex: { left: null } })
      t.false('facetsByIndex' in none)
    },
  )

  withTwoIndexes('distinct applies across all indexes of a federation', async (t, engine) => {
    const answer = await federated(engine, [left('copper'), right('copper')], { distinct: 'kind' })
    t.deepEqual(origins(answer), [
      ['left', 2, 0],
      ['left', 1, 0],
    ])
    t.is(answer.estimatedTotalHits, 2)
  })
  for (const name of ['merged', 'by index'])
    claim(
      `facet statistics ${name} include documents excluded by distinct, counts do not`,
      async (t, engine) => {
        for (const index of ['left', 'right'])
          await engine.configure(index, { filterableAttributes: ['dog'] })
        await engine.put(
          'left',
          { id: 1, dog: { name: 'bobby', age: 2 } },
          { id: 2, dog: { name: 'buddy', age: 4 } },
        )
        await engine.put('right', { id: 1, dog: { name: 'bobby', age: 9 } })
        const answer = await federated(engine, [left(''), right('')], {
          distinct: 'dog.name',
          facetsByIndex: { left: ['dog.age'], right: ['dog.age'] },
          mergeFacets: name === 'merged' ? { maxValuesPerFacet: null } : null,
        })
        t.is(answer.estimatedTotalHits, 2)
        if (name === 'merged') {
          t.deepEqual(answer.facetDistribution, { 'dog.age': { 2: 1, 4: 1 } })
          t.deepEqual(answer.facetStats, { 'dog.age': { min: 2, max: 9 } })
        } else
          t.deepEqual(answer.facetsByIndex, {
            left: { distribution: { 'dog.age': { 2: 1, 4: 1 } }, stats: { 'dog.age': { min: 2, max: 4 } } },
            right: { distribution: { 'dog.age': {} }, stats: { 'dog.age': { min: 9, max: 9 } } },
          })
      },
    )

  const stagesOf = ({ performanceDetails }: Readonly<Record<string, unknown>>): string[] =>
    Object.entries(performanceDetails as Record<string, string>).flatMap(([stage, time]) =>
      // Only searches on separate threads wait in a queue.
      stage !== 'wait in queue' && /^\d+\.\d\d(ns|µs|ms|s)$/.test(time) ? [stage] : [],
    )

  withTwoIndexes('performance details list the stages of a search', async (t, engine) => {
    const options = { showPerformanceDetails: true, facets: ['kind'] }
    const ranked = ['search > evaluate filter', 'search > keyword ranking']
    const alone = await engine.search('left', { q: 'copper', ...options })
    t.deepEqual(stagesOf(alone as never), [
      ...ranked,
      'search > format',
      'search > facet distribution',
      'search',
    ])
    t.false('performanceDetails' in (await engine.search('left', { q: 'copper' })))
    const merged = await federated(engine, [left('copper'), right('tin')], { showPerformanceDetails: true })
    t.deepEqual(stagesOf(merged), [
      ...[0, 1].flatMap((at) => ranked.map((stage) => stage.replace('>', `> query ${at} >`))),
      'search > merge results',
      'search > format',
      'search > facet distribution',
      'search',
    ])
  })
}
