/** Values and operands at the edges: minus zero, blanks, escapes, long strings, coordinates, NUL, surrogate pairs. */
import { completeRequest, type Hit, type SearchBody, type TestEngine } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

const ids = async (engine: TestEngine, body: SearchBody): Promise<unknown[]> =>
  (await engine.search('things', { q: '', ...body })).hits.map(({ id }) => id)

const filterable = { facetSearch: true, filter: { equality: true, comparison: true } }

export function unusualValues(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  claim('minus zero equals zero, but is a facet and a place in the order of its own', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['n'], sortableAttributes: ['n'] })
    const documents = '[{"id":1,"n":0},{"id":2,"n":-0.0},{"id":3,"n":[-0,0]},{"id":4,"n":1},{"id":5,"n":-1}]'
    await engine.outcome('things', await engine.upload(documents))
    for (const filter of ['n = 0', 'n = -0', 'n IN [0]', 'n -0 TO 0', 'n 0 TO -0'])
      t.deepEqual(await ids(engine, { filter }), [1, 2, 3], filter)
    t.deepEqual(await ids(engine, { sort: ['n:asc'] }), [5, 2, 3, 1, 4])
    t.deepEqual(await ids(engine, { sort: ['n:desc'] }), [4, 1, 3, 2, 5])
    t.deepEqual(await ids(engine, { distinct: 'n' }), [1, 4, 5])
    const text = await engine.searchText('things', { q: '', filter: 'n = 0', facets: ['n'] })
    t.regex(text, /"n":\{"-0":2,"0":2\}\},"facetStats":\{"n":\{"min":-0\.0,"max":0\.0\}\}/)
  })

  claim('white space is that of Unicode, and no part of a number', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['v', '_geo'] })
    await engine.put(
      'things',
      { id: 1, v: '\u0085nel\u0085' },
      { id: 2, v: '\ufeffbom' },
      { id: 3, v: 5 },
      { id: 4, v: ' 5 ' },
    )
    for (const [operand, found] of [
      ['nel', [1]],
      ['\u0085nel', [1]],
      ['bom', []],
      ['\ufeffbom', [2]],
      ['5', [3, 4]],
      [' 5 ', [4]],
    ] as const)
      t.deepEqual(await ids(engine, { filter: `v = "${operand}"` }), [...found], operand)
    const point = await engine.put('things', { id: 5, _geo: { lat: ' 1', lng: 2 } })
    t.is(point.error?.code, 'invalid_document_geo_field')
    await t.throwsAsync(ids(engine, { filter: '_geoRadius(" 1", 2, 3)' }))
  })

  claim('words of a filter are alphabetic characters and numbers of all scripts', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['नाम', 'v', '_element'] })
    await engine.put('things', { id: 1, नाम: 'किताब', v: '①½', _element: '(' })
    for (const filter of ['नाम = किताब', 'v = ①½', '_element "(" TO ")"', 'v = "\\u{2460}½"'])
      t.deepEqual(await ids(engine, { filter }), [1], filter)
    for (const sequence of ['\\q', '\\u', '\\x4', '\\u{}', '\\u{D800}', '\\u{110000}', '\\💡'])
      await t.throwsAsync(ids(engine, { filter: `v = "${sequence}"` }), {
        message: /^unknown escape sequence `\\/,
      })
  })

  claim('a resolution of a circle is cut to a whole number', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['_geojson'] })
    await engine.put('things', { id: 1, _geojson: { type: 'Point', coordinates: [2, 1] } })
    for (const resolution of ['3', '3.9', '1000', '1000.9'])
      t.deepEqual(await ids(engine, { filter: `_geoRadius(1, 2, 9, ${resolution})` }), [1], resolution)
    for (const resolution of ['2.9', '-4', '1001', '1e300'])
      await t.throwsAsync(
        ids(engine, { filter: `_geoRadius(1, 2, 9, ${resolution})` }),
        undefined,
        resolution,
      )
  })

  claim('the coordinates of points are filtered and sorted like fields', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['_geo'], sortableAttributes: ['_geo'] })
    await engine.put('things', { id: 0 })
    for (const filter of ['_geo.lat = 1', '_geo.lat != 1', '_geo.lat EXISTS'])
      t.deepEqual(await ids(engine, { filter }), [], filter)
    await engine.put(
      'things',
      { id: 1, _geo: { lat: 10, lng: '20' } },
      { id: 2, _geo: { lat: -5, lng: 20 } },
      { id: 3, _geo: null },
    )
    for (const [filter, found] of [
      ['_geo.lat = 10', [1]],
      ['_geo.lat < 10', [2]],
      ['_geo.lng = 20', [1, 2]],
      ['_geo.lat != 10', [0, 2, 3]],
      ['_geo.lng EXISTS', [1, 2]],
      ['_geo.lng NOT EXISTS', [0, 3]],
    ] as const)
      t.deepEqual(await ids(engine, { filter }), [...found], filter)
    t.deepEqual(await ids(engine, { sort: ['_geo.lat:asc'] }), [2, 1, 0, 3])
    t.deepEqual(await ids(engine, { sort: ['_geo.lat:desc'] }), [1, 2, 0, 3])
    t.deepEqual(await ids(engine, { distinct: '_geo.lng' }), [0, 1, 3])
    for (const point of ['_geoPoint(0x1,0)', '_geoPoint(,0)', '_geoPoint(1_0,0)'])
      await t.throwsAsync(ids(engine, { sort: [`${point}:asc`] }), undefined, point)
  })

  claim('a field that no document has any more matches nothing, even with !=', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['gone', 'a', 'v', '_element'] })
    await engine.put('things', { id: 1, gone: 5, v: [{ n: 1, gone: 5 }], 'a.b': 1 }, { id: 2, v: { n: 1 } })
    for (const [filter, found] of [
      ['gone != 1', [1, 2]],
      ['_element(v, gone != 1)', [1, 2]],
      // A key with a dot has no parent.
      ['a != 1', []],
      ['a.b != 2', [1, 2]],
    ] as const)
      t.deepEqual(await ids(engine, { filter }), [...found], filter)
    await engine.put('things', { id: 1, v: [{ n: 1 }] })
    for (const [filter, found] of [
      ['gone != 1', []],
      ['NOT gone != 1', [1, 2]],
      ['NOT gone = 5', [1, 2]],
      ['_element(v, gone != 1)', []],
      ['_element(v, n = 1 AND NOT gone != 1)', [1, 2]],
    ] as const)
      t.deepEqual(await ids(engine, { filter }), [...found], filter)
  })

  claim('a field that no document has any more is still formatted', async (t, engine) => {
    await engine.put('things', { id: 1, v: 'fox', gone: 'x' })
    await engine.put('things', { id: 1, v: 'fox' })
    for (const [name, formatted] of [
      ['gone', { id: '1' }],
      ['never', undefined],
    ] as const)
      for (const list of ['attributesToHighlight', 'attributesToCrop']) {
        const { hits } = await engine.search('things', {
          q: 'fox',
          [list]: [name],
          attributesToRetrieve: ['id'],
        })
        t.deepEqual(hits, [{ id: 1, ...(formatted && { _formatted: formatted }) }], `${list}: ${name}`)
      }
  })

  claim('a thousand points are sorted by exact distance, the rest by full metres', async (t, engine) => {
    await engine.configure('things', { sortableAttributes: ['_geo'], pagination: { maxTotalHits: 2000 } })
    const sides = Array.from({ length: 1000 }, (_, at) => ({
      id: at,
      _geo: { lat: 0, lng: at < 500 ? 180 : -180 },
    }))
    const metres = (count: number): number => count / 111194.92664455873
    await engine.put('things', ...sides, { id: 1000, _geo: { lat: metres(5.9), lng: 0 } })
    await engine.put('things', { id: 1001, _geo: { lat: metres(5.1), lng: 0 } })
    const firstAndLast = async (point: string): Promise<unknown[]> => {
      const sort = [point]
      const { hits } = await engine.search('things', {
        q: '',
        sort,
        limit: 1002,
        showRankingScoreDetails: true,
      })
      return [hits[0], hits[1001]].map((hit) => Object.values(hit?._rankingScoreDetails ?? {})[0])
    }
    const near = { lat: metres(5.9), lng: 0 }
    t.like(await firstAndLast('_geoPoint(0, 0):desc'), [
      { value: { lat: 0, lng: 180 } },
      { value: { lat: metres(5.1), lng: 0 }, distance: 5.1 },
    ])
    t.like(await firstAndLast('_geoPoint(0, 180):asc'), [
      { value: { lat: 0, lng: 180 }, distance: 0 },
      { value: near },
    ])
    t.like(await firstAndLast('_geoPoint(0, 0):asc'), [
      { value: { lat: metres(5.1), lng: 0 }, distance: 5.1 },
      { distance: 20015086.796 },
    ])
  })

  claim('a threshold also drops documents that the deadline left unranked', async (t, engine) => {
    await engine.configure('things', { searchCutoffMs: 0 })
    await engine.put('things', { id: 1, v: 'fox' }, { id: 2, v: 'fox fox' })
    const counts = async (rankingScoreThreshold: number): Promise<unknown[]> => {
      const { hits, estimatedTotalHits } = await engine.search('things', { q: 'fox', rankingScoreThreshold })
      return [hits.length, estimatedTotalHits]
    }
    t.deepEqual(await counts(0), [2, 2])
    t.deepEqual(await counts(0.1), [0, 0])
  })

  claim('facet values are shown up to 468 bytes, and NUL does not count', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['v'], sortableAttributes: ['v'] })
    await engine.put(
      'things',
      { id: 1, v: 'b\0a' },
      { id: 2, v: 'ba' },
      { id: 3, v: 'b' },
      { id: 4, v: '\0' },
      { id: 5, v: '\0z' },
      { id: 6, v: `${'x'.repeat(467)}éé` },
    )
    const { facetDistribution } = await engine.search('things', { q: '', facets: ['v'] })
    t.deepEqual(facetDistribution, { v: { b: 1, 'b\0a': 2, [`${'x'.repeat(467)}`]: 1, '\0z': 1 } })
    for (const [filter, found] of [
      ['v = ba', [1, 2]],
      ['v = "b\\u{0}a"', [1, 2]],
      ['v = b', [3]],
      ['v = ""', []],
      ['v STARTS WITH z', [5]],
    ] as const)
      t.deepEqual(await ids(engine, { filter }), [...found], filter)
    t.deepEqual(await ids(engine, { sort: ['v:asc'] }), [3, 1, 2, 6, 5, 4])
    t.deepEqual(await ids(engine, { distinct: 'v' }), [1, 3, 4, 5, 6])
  })

  claim('characters without a word of their own cut texts alike in both engines', async (t, engine) => {
    await engine.put(
      'things',
      { id: 1, v: 'copper \u0301 pot' },
      { id: 2, v: 'tin\u0000pot' },
      { id: 3, v: 'lead\u0085pot' },
      { id: 4, v: 'white \ufeff' },
      { id: 5, v: 'zincԱբ' },
      { id: 6, v: 'iron\u0374pot' },
      { id: 7, v: 'ދިވެހި' },
      { id: 8, v: '𠮷𠮷' },
    )
    for (const [q, found] of [
      // A word of marks or control characters takes no position.
      ['"copper pot"', [1]],
      ['"tin pot"', [2]],
      // U+0085 is white space and U+FEFF is not.
      ['"leadpot"', []],
      ['\ufeff', [4]],
      // Armenian does not end a Latin word; Greek does, and so does any character of a Greek block.
      ['"zinc"', []],
      ['"ԱԲ"', []],
      ['"iron"', [6]],
      // Thaana is handled as Arabic: without marks.
      ['"ދވހ"', [7]],
      // These Chinese characters are outside the blocks that are cut.
      ['"𠮷"', []],
    ] as const)
      t.deepEqual(await engine.idsFor('things', q), [...found], q)
  })

  claim('facets show no value of `_vectors`, and none at all if their maximum is 0', async (t, engine) => {
    for (const [maxValuesPerFacet, order, kinds] of [
      [0, 'count', {}],
      [0, 'alpha', {}],
      [1, 'count', { k29: 1 }],
      [1, 'alpha', { k00: 1 }],
    ] as const) {
      await engine.configure('things', {
        filterableAttributes: [{ attributePatterns: ['*'], features: filterable }],
        faceting: { maxValuesPerFacet, sortFacetValuesBy: { '*': order } },
      })
      const kind = (id: number): string => `k${String(id).padStart(2, '0')}`
      const documents = Array.from({ length: 30 }, (_, id) => ({ id, kind: kind(id), _vectors: { e: [1] } }))
      await engine.outcome('things', await engine.upload(documents, { primaryKey: 'id' }))
      const { facetDistribution } = await engine.search('things', { facets: ['k*', '_*'] })
      t.deepEqual(facetDistribution, { kind: kinds }, `${maxValuesPerFacet} by ${order}`)
    }
  })

  claim('without a word dictionary, Korean is cut at blanks only', async (t, engine) => {
    await engine.put('things', { id: 'a', v: '2024년 1월' }, { id: 'b', v: '2024' }, { id: 'c', v: '💡한' })
    for (const [q, found] of [
      ['2024 ', ['b']],
      ['2024', ['b', 'a']],
      ['2024년 ', ['a']],
      ['월 ', []],
      ['한 ', []],
      ['💡', ['c']],
    ] as const)
      t.deepEqual(await engine.idsFor('things', q), [...found], q)
  })

  claim('typos of a facet query are counted in characters', async (t, engine) => {
    await engine.configure('things', { filterableAttributes: ['v'] })
    await engine.put('things', { id: 1, v: '💡bulb' }, { id: 2, v: 'xbulb' })
    const body = (facetQuery: string): Uint8Array =>
      Buffer.from(
        JSON.stringify({ ...completeRequest({}), facetName: 'v', facetQuery, exhaustiveFacetCount: false }),
      )
    for (const facetQuery of ['💡bulb', 'xbulb', '💢bulb', 'ybulb']) {
      const answer = await engine.engine.facetSearch('things', body(facetQuery))
      const { facetHits } = JSON.parse(Buffer.from(answer.body).toString()) as { facetHits: Hit[] }
      t.deepEqual(
        facetHits.map(({ value }) => value),
        ['xbulb', '💡bulb'],
        facetQuery,
      )
    }
  })
}
