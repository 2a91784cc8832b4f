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
    for (const [point, accepted] of [
      [{ lat: '48.5', lng: 2 }, true],
      [null, true],
      [{ lat: 1 }, false],
      [{ lat: 1, lng: 2, alt: 3 }, false],
      [{ lat: 'x', lng: 2 }, false],
    ] as const) {
      const { error } = await engine.put('places', { id: 1, _geo: point })
      t.is(error?.code ?? null, accepted ? null : 'invalid_document_geo_field', JSON.stringify(point))
    }
  })

  claim('a malformed shape fails its task if shapes are filterable', async (t, engine) => {
    for (const shape of MALFORMED_SHAPES) await engine.put('things', { id: 1, _geojson: shape })
    await engine.put('things', { id: 1, _geojson: { type: 'Blob' } })
    const turned = await engine.configure('things', { filterableAttributes: ['_geojson'] })
    t.is(turned.error?.code, 'invalid_document_geo_field')
    t.deepEqual(parsedSettings(await engine.engine.settings('things')).filterableAttributes, [])
    await engine.put('things', { id: 1, _geojson: { type: 'Point', coordinates: [1, 2] } })
    t.is((await engine.configure('things', { filterableAttributes: ['_geojson'] })).error, undefined)
    for (const shape of MALFORMED_SHAPES) {
      const { error } = await engine.put('things', { id: 2, _geojson: shape })
      t.is(error?.code, 'invalid_document_geo_field', JSON.stringify(shape))
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
const MALFORMED_SHAPES: readonly unknown[] = [
  null,
  'Point',
  {},
  { type: 'Blob', coordinates: [1, 2] },
  { type: 'Point' },
  { type: 'Point', coordinates: [1] },
  { type: 'Point', coordinates: ['1', '2'] },
  { type: 'LineString', coordinates: [[1, 2]] },
  { type: 'Polygon', coordinates: [] },
  {
    type: 'Polygon',
    coordinates: [
      [
        [0, 0],
        [1, 1],
        [0, 0],
      ],
    ],
  },
  {
    type: 'Polygon',
    coordinates: [
      [
        [0, 0],
        [1, 1],
        [1, 0],
        [2, 2],
      ],
    ],
  },
  { type: 'Feature' },
  { type: 'FeatureCollection', features: { type: 'Feature' } },
  { type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: {} }] },
]
