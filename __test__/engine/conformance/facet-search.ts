/** Facet search: matching values and their counts. */
import { completeRequest, type Hit } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

export function facetSearch(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  claim('facet search finds values by prefix and with typos', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['c'] })
    await engine.put(
      'things',
      { id: 1, c: 'Rust' },
      { id: 2, c: ['rust', 'TEAL'] },
      { id: 3, c: 7 },
      { id: 4, c: '7' },
      { id: 5, c: 'Photography' },
    )
    const facets = async (facetQuery: string | null, rest: object = {}): Promise<unknown> => {
      const body = {
        ...completeRequest({}),
        facetName: 'c',
        facetQuery,
        exhaustiveFacetCount: false,
        ...rest,
      }
      const answer = await engine.engine.facetSearch('things', Buffer.from(JSON.stringify(body)))
      const { facetHits } = JSON.parse(Buffer.from(answer.body).toString()) as { facetHits: Hit[] }
      return facetHits.map(({ value, count }) => `${value} ${count}`)
    }
    t.deepEqual(await facets('ru'), ['Rust 2'])
    t.deepEqual(await facets('téa'), ['TEAL 1'])
    t.deepEqual(await facets('7'), ['7 1'])
    t.deepEqual(await facets('photografy'), ['Photography 1'])
    t.deepEqual(await facets('hotography'), ['Photography 1'])
    t.deepEqual(await facets('graphy'), [])
    t.deepEqual(await facets(null), ['7 1', 'Photography 1', 'Rust 2', 'TEAL 1'])
    t.deepEqual(await facets(null, { filter: 'c = teal' }), ['rust 1', 'TEAL 1'])
    t.deepEqual(await facets('ru ', { pins: [] }), [], 'a space is significant')
    const error = await t.throwsAsync(facets('x', { facetName: 'id' }))
    t.is((error as { code?: string } | undefined)?.code, 'invalid_facet_search_facet_name')
  })

  claim('facet search counts the documents of the search', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['c', 'k'], distinctAttribute: 'k' })
    // 30 documents, 15 values of `k`, two neighbours each. 20 documents are ranked: ten pairs.
    const documents = Array.from({ length: 30 }, (_, at) => ({ id: at, c: 'x', k: Math.floor(at / 2) }))
    await engine.put('things', ...documents, { id: 99, c: 'pinned' })
    const count = async (rest: object): Promise<unknown> => {
      const body = { ...completeRequest({}), facetName: 'c', facetQuery: null, ...rest }
      const answer = await engine.engine.facetSearch('things', Buffer.from(JSON.stringify(body)))
      const { facetHits } = JSON.parse(Buffer.from(answer.body).toString()) as { facetHits: Hit[] }
      return facetHits.map(({ value, count }) => `${value} ${count}`)
    }
    t.deepEqual(await count({ q: 'x', exhaustiveFacetCount: true }), ['x 15'])
    t.deepEqual(await count({ q: 'x', exhaustiveFacetCount: false }), ['x 15'])
    const pins = [{ id: '99', position: 0 }]
    t.deepEqual(await count({ q: 'x', exhaustiveFacetCount: true, pins }), ['pinned 1', 'x 15'])
    t.deepEqual(await count({ q: 'x', exhaustiveFacetCount: true, pins, filter: 'c = x' }), ['x 15'])
    await engine.put('things', ...Array.from({ length: 60 }, (_, at) => ({ id: at, c: 'x', k: at >> 1 })))
    const filter = 'c = x'
    t.deepEqual(await count({ filter, exhaustiveFacetCount: false }), ['x 40'], '20 of 30 pairs are known')
    t.deepEqual(await count({ filter, exhaustiveFacetCount: true }), ['x 30'])
  })

  claim('facet search orders equal counts by groups of four, as facets do', async (t, engine) => {
    const faceting = { sortFacetValuesBy: { '*': 'count' } } as const
    await engine.configure('things', { filterableAttributes: ['id', 'c'], faceting })
    const documents = Array.from({ length: 20 }, (_, id) => ({ id, c: `v${id + 20}` }))
    await engine.outcome('things', await engine.upload(documents, { primaryKey: 'id' }))
    // The neighbours of v25: v24, v26 and v27.
    const filter = 'id NOT IN [4, 6, 7]'
    const last = ['v21', 'v20', 'v25']
    const { facetDistribution } = await engine.search('things', { filter, facets: ['c'] })
    t.deepEqual(Object.keys(facetDistribution!.c!).slice(-3), last)
    const rest = { facetName: 'c', facetQuery: null, exhaustiveFacetCount: false }
    const body = Buffer.from(JSON.stringify({ ...completeRequest({ filter }), ...rest }))
    const answer = Buffer.from((await engine.engine.facetSearch('things', body)).body).toString()
    const { facetHits } = JSON.parse(answer) as { facetHits: { value: string }[] }
    t.deepEqual(facetHits.map(({ value }) => value).slice(-3), last)
  })

  claim('facet search finds a value by its own text and by its start without accents', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['c'] })
    const values = [
      'ガンダム RX-78 Gundam',
      'Ёлка Noël',
      'Đà Nẵng в России',
      'ＡＢＣ',
      'ΟΔΟΣ, alpha',
      'שָׁלוֹם',
      ' ﬁne ',
    ]
    await engine.put('things', ...values.map((c, id) => ({ id, c })))
    const found = async (facetQuery: string): Promise<unknown> => {
      const body = { ...completeRequest({}), facetName: 'c', facetQuery, exhaustiveFacetCount: false }
      const answer = await engine.engine.facetSearch('things', Buffer.from(JSON.stringify(body)))
      const { facetHits } = JSON.parse(Buffer.from(answer.body).toString()) as { facetHits: Hit[] }
      return facetHits.map(({ value }) => value)
    }
    for (const value of values) t.deepEqual(await found(value.trim()), [value])
    for (const [query, value] of [
      ['ガ', 'ガンダム RX-78 Gundam'],
      ['がんだむ rx', 'ガンダム RX-78 Gundam'],
      ['ё', 'Ёлка Noël'],
      ['ёлка no', 'Ёлка Noël'],
      ['da na', 'Đà Nẵng в России'],
      ['abc', 'ＡＢＣ'],
      ['ａ', 'ＡＢＣ'],
      ['ΟΔΟΣ', 'ΟΔΟΣ, alpha'],
      ['οδος', 'ΟΔΟΣ, alpha'],
      ['שלום', 'שָׁלוֹם'],
      ['fi', ' ﬁne '],
    ] as const)
      t.deepEqual(await found(query), [value], query)
  })

  claim(
    'a facet query is normalised by its own locales, facet values by those of their field',
    async (t, engine) => {
      await engine.configure('things', {
        filterableAttributes: ['c'],
        localizedAttributes: [{ attributePatterns: ['c'], locales: ['jpn'] }],
      })
      await engine.put('things', { id: 1, c: '进击的巨人' })
      const values = async (locales: readonly string[] | null): Promise<unknown> => {
        const rest = { facetName: 'c', facetQuery: '进击', exhaustiveFacetCount: false, locales }
        const body = Buffer.from(JSON.stringify({ ...completeRequest({}), ...rest }))
        const answer = Buffer.from((await engine.engine.facetSearch('things', body)).body)
        return (JSON.parse(answer.toString()) as { facetHits: unknown[] }).facetHits.length
      }
      t.is(await values(null), 1)
      t.is(await values(['jpn']), 1)
      t.is(await values(['cmn']), 0, 'as Chinese, the query has another normalised form')
    },
  )
}
