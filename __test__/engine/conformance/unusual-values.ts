/** Values and operands at the edges: minus zero, blanks, escapes, long strings, coordinates, NUL, surrogate pairs. */
import type { SearchBody, TestEngine } from '../../support/engine.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

const ids = async (engine: TestEngine, body: SearchBody): Promise<unknown[]> =>
  (await engine.search('things', { q: '', ...body })).hits.map(({ id }) => id)

export function unusualValues(tested: TestedEngine): void {
  const claim = claimsOf(tested)

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
}
