/** Validation of geo points and shapes. */
import { parsedSettings } from '../../../ts/settings/index.js'
import type { TestedEngine } from '../../support/engines.js'
import { claimsOf } from './claims.js'

export function geo(tested: TestedEngine): void {
  const claim = claimsOf(tested)

  claim('a malformed point fails its task if the settings use points', async (t, engine) => {
    await engine.put('places', { id: 1, _geo: 'anywhere' })
    const late = await engine.configure('places', { sortableAttributes: ['_geo'] })
    t.is(late.error?.code, 'invalid_document_geo_field')
    await engine.outcome('places', { kind: 'clear' })
    await engine.configure('places', { sortableAttributes: ['_geo'] })
    const aNumber = (found: string) => `must be a number or a string holding one, found ${found}`
    for (const [point, fault] of [
      [{ lat: '48.5', lng: 2 }, null],
      [null, null],
      [{ lat: 1 }, `\`_geo.lng\` ${aNumber('nothing')}`],
      [{ lat: 1, lng: 2, alt: 3 }, '`_geo` has an unknown field `alt` beside `lat` and `lng`'],
      [{ lat: 'x', lng: 2 }, `\`_geo.lat\` ${aNumber('`"x"`')}`],
      [[1, 2], '`_geo` must be an object with `lat` and `lng`, found `[1,2]`'],
    ] as const) {
      const { error } = await engine.put('places', { id: 1, _geo: point })
      t.is(error?.code ?? null, fault === null ? null : 'invalid_document_geo_field', JSON.stringify(point))
      t.is(error?.message ?? null, fault === null ? null : `index \`things\`: document \`1\`: ${fault}`)
    }
  })

  claim('a malformed shape fails its task if shapes are filterable', async (t, engine) => {
    for (const [shape] of MALFORMED_SHAPES) await engine.put('things', { id: 1, _geojson: shape })
    await engine.put('things', { id: 1, _geojson: { type: 'Blob' } })
    const turned = await engine.configure('things', { filterableAttributes: ['_geojson'] })
    t.is(turned.error?.code, 'invalid_document_geo_field')
    t.deepEqual(parsedSettings(await engine.engine.settings('things')).filterableAttributes, [])
    await engine.put('things', { id: 1, _geojson: { type: 'Point', coordinates: [1, 2] } })
    t.is((await engine.configure('things', { filterableAttributes: ['_geojson'] })).error, undefined)
    for (const [shape, fault] of MALFORMED_SHAPES) {
      const { error } = await engine.put('things', { id: 2, _geojson: shape })
      t.is(error?.code, 'invalid_document_geo_field', JSON.stringify(shape))
      t.is(error?.message, `index \`things\`: document \`2\`: \`_geojson\`: ${fault}`)
    }
    t.deepEqual((await engine.search('things', { q: '' })).hits.length, 1)
  })

  claim('the coordinates of points are facets if the settings use points', async (t, engine) => {
    const pattern = {
      attributePatterns: ['*'],
      features: { facetSearch: false, filter: { equality: true, comparison: false } },
    }
    await engine.put(
      'places',
      { id: 1, _geo: { lat: 1.5, lng: '2' } },
      { id: 2, _geo: null },
      { id: 3, _geo: { lat: 1.5, lng: -3 } },
    )
    const latitudes = { '_geo.lat': { '1.5': 2 } }
    const all = { _geo: {}, ...latitudes, '_geo.lng': { '-3': 1, 2: 1 } }
    for (const [settings, facets, counts] of [
      [{ filterableAttributes: ['_geo'] }, ['*'], all],
      [{ filterableAttributes: ['_geo'] }, ['_geo'], all],
      [{ filterableAttributes: ['_geo'] }, ['_geo.lat'], latitudes],
      [{ filterableAttributes: ['_geo', 'id'] }, ['id'], { id: { 1: 1, 2: 1, 3: 1 } }],
      [{ filterableAttributes: ['id'], sortableAttributes: ['_geo'] }, ['*'], { id: { 1: 1, 2: 1, 3: 1 } }],
      [{ filterableAttributes: [pattern], sortableAttributes: ['_geo'] }, ['_geo*'], all],
      [{ filterableAttributes: [pattern], sortableAttributes: [] }, ['_geo*'], { _geo: {} }],
    ] as const) {
      await engine.configure('places', { sortableAttributes: [], ...settings })
      const answer = await engine.search('places', { q: '', facets })
      t.deepEqual(answer.facetDistribution, counts, JSON.stringify([settings, facets]))
    }
    await engine.configure('places', { filterableAttributes: ['_geo', 'id'] })
    const range = await engine.search('places', { q: '', facets: ['_geo*'], filter: 'id = 3' })
    t.deepEqual(range.facetStats, { '_geo.lat': { min: 1.5, max: 1.5 }, '_geo.lng': { min: -3, max: -3 } })
    const none = await engine.search('places', { q: '', facets: ['*'], filter: 'id = 2' })
    t.deepEqual(none.facetDistribution, { _geo: {}, '_geo.lat': {}, '_geo.lng': {}, id: { 2: 1 } })
    await engine.outcome('places', { kind: 'deleteByIds', ids: ['1', '3'] })
    const left = await engine.search('places', { q: '', facets: ['_geo*'] })
    t.deepEqual(left.facetDistribution, { _geo: {} })
  })
}

/** Malformed values of `_geojson`. */
const MALFORMED_SHAPES: readonly (readonly [shape: unknown, fault: string])[] = [
  [null, '`_geojson` must be an object'],
  ['Point', '`_geojson` must be an object'],
  [{}, '`type` must name a geometry, `Feature` or `FeatureCollection`'],
  [{ type: 'Blob', coordinates: [1, 2] }, '`type` must name a geometry, `Feature` or `FeatureCollection`'],
  [{ type: 'Point' }, '`coordinates` must be an array'],
  [{ type: 'Point', coordinates: [1] }, '`coordinates` needs at least 2 items'],
  [{ type: 'Point', coordinates: ['1', '2'] }, 'a position holds numbers only'],
  [{ type: 'LineString', coordinates: [[1, 2]] }, '`coordinates` needs at least 2 items'],
  [{ type: 'Polygon', coordinates: [] }, '`coordinates` needs at least 1 items'],
  [polygon([0, 0], [1, 1], [0, 0]), '`coordinates` needs at least 4 items'],
  [polygon([0, 0], [1, 1], [1, 0], [2, 2]), 'a ring must end where it begins'],
  [{ type: 'Feature' }, 'a `Feature` needs a `geometry`'],
  [{ type: 'FeatureCollection', features: { type: 'Feature' } }, '`features` must be an array'],
  [
    { type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: {} }] },
    '`coordinates` must be an array',
  ],
]

function polygon(...ring: readonly (readonly [number, number])[]): unknown {
  return { type: 'Polygon', coordinates: [ring] }
}
