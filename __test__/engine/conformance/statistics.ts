/** Statistics of documents and fields. */
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

export function statistics(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  claim('the field distribution counts remaining documents from all commits', async (t, engine) => {
    const numbered = Array.from({ length: 60 }, (_, id) => ({
      id,
      ...(id % 3 === 0 && { third: id }),
      ...(id % 20 === 7 && { rare: 'x' }),
    }))
    await engine.put('things', ...numbered)
    await engine.put('things', { id: 100, third: null })
    const gone = [0, 1, 3, 27, 30, 59]
    await engine.outcome('things', { kind: 'deleteByIds', ids: gone.map(String) })
    await engine.put('things', { id: 6, rare: 'y' })
    // 21 documents had the field; four of them were deleted, and an update removed it from another.
    const expected = { id: 55, third: 16, rare: 3 }
    t.deepEqual((await engine.engine.stats('things')).fieldDistribution, expected)
  })

  claim('stats and field names reflect the documents', async (t, engine) => {
    await engine.put('things', { id: 1, t: 'a', m: { x: 1 } }, { id: 2, t: null, _vectors: {} })
    const { numberOfDocuments, fieldDistribution } = await engine.engine.stats('things')
    t.is(numberOfDocuments, 2)
    t.deepEqual(fieldDistribution, { id: 2, m: 1, t: 2 })
    t.true(['id', 'm', 'm.x', 't'].every((field, at, all) => all.indexOf(field) === at))
    t.deepEqual(await engine.engine.fields('things'), ['id', 'm', 'm.x', 't'])
    await engine.outcome('things', { kind: 'deleteByIds', ids: ['1'] })
    t.deepEqual((await engine.engine.stats('things')).fieldDistribution, { id: 1, t: 1 })
  })

  claim(
    'keys that begin with a reserved field and a dot are neither fields nor filtered',
    async (t, engine) => {
      await engine.configure('things', { filterableAttributes: ['_geo', '_geojson'] })
      await engine.put('things', { id: 1, '_geojson.x': 5, '_geo.q': null, '_geo.lat': 3 })
      t.deepEqual(await engine.engine.fields('things'), ['id'])
      for (const filter of ['_geojson.x EXISTS', '_geojson.x = 5', '_geo.q IS NULL', '_geo.lat EXISTS'])
        t.deepEqual((await engine.search('things', { filter })).hits, [], filter)
      await engine.put('things', { id: 2, _geojson: { type: 'Point', coordinates: [2, 1] } })
      t.is((await engine.search('things', { filter: '_geojson EXISTS' })).hits.length, 1)
    },
  )

  claim('reserved fields have names, but nothing below them has', async (t, engine) => {
    const point = { _geo: { lat: 1, lng: 2 }, _geojson: { type: 'Point', coordinates: [2, 1] } }
    await engine.put('things', { id: 1, ...point, _vectors: { e: [1] } })
    t.deepEqual(await engine.engine.fields('things'), ['_geo', '_geojson', 'id'])
  })
}
