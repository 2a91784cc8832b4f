import { hasExtension, type TestPostgres } from '../../support/postgres.js'
import type { Requirement } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'
import { needs, startPostgresFor, startWorld } from './world.js'

// Rules:
// 1. Points of PostGIS become positions in degrees, whatever their reference system; other shapes become GeoJSON.
// 2. Columns of pgvector become vectors of an embedder.
// 3. `init` proposes these fields, and no tables of extensions.

const postgis: Requirement = {
  missing: hasExtension('postgis') ? null : 'PostGIS is not installed (apt-get install postgresql-postgis)',
  isDemanded: false,
}
const hasVector = hasExtension('vector')
let postgres: TestPostgres
startPostgresFor((started) => {
  postgres = started
})

testNeeding([...needs, postgis])('points of PostGIS arrive as positions', async (t) => {
  t.timeout(180_000)
  const square = 'POLYGON((1 1, 1 2, 2 2, 2 1, 1 1))'
  await postgres.sql(`
    create extension postgis;
    create table shops (id int primary key, spot geometry(Point, 4326), map geometry(Point, 3857), place geography(Point),
      area geometry(Polygon, 4326));
    insert into shops values
      (1, ST_SetSRID(ST_MakePoint(13.4, 52.5), 4326), ST_Transform(ST_SetSRID(ST_MakePoint(13.4, 52.5), 4326), 3857),
        ST_MakePoint(13.4, 52.5), ST_GeomFromText('${square}', 4326)),
      (2, ST_GeomFromText('POINT EMPTY', 4326), null, null, null);
  `)
  const shops = {
    uid: 'shops',
    table: 'shops',
    fields: {
      id: 'id',
      _geo: 'spot',
      map: { column: 'map', as: 'geo' },
      place: { column: 'place', as: 'geo' },
      area: { column: 'area', as: 'geojson' },
    },
  }
  const world = await startWorld(t, postgres, { name: 'shops', index: [shops] })
  await world.server.call('PATCH', '/indexes/shops/settings', { filterableAttributes: ['_geo'] })
  world.run()
  await world.becomes(t, 'shops', 2, { id: 2, _geo: null, map: null, place: null, area: null })
  const { body } = await world.server.call('GET', '/indexes/shops/documents/1')
  const { map, ...others } = body as Record<string, unknown>
  const position = { lat: 52.5, lng: 13.4 }
  const coordinates = [
    [
      [1, 1],
      [1, 2],
      [2, 2],
      [2, 1],
      [1, 1],
    ],
  ]
  t.deepEqual(others, { id: 1, _geo: position, place: position, area: { type: 'Polygon', coordinates } })
  const { lat, lng } = map as typeof position
  t.deepEqual([lat.toFixed(6), lng.toFixed(6)], ['52.500000', '13.400000'])
  const near = async (): Promise<unknown> => {
    const search = { filter: '_geoRadius(48.1, 11.5, 5000)' }
    return (await world.server.call('POST', '/indexes/shops/search', search)).body.hits?.length
  }
  t.is(await near(), 0)
  await postgres.sql('update shops set spot = ST_SetSRID(ST_MakePoint(11.5, 48.1), 4326) where id = 1')
  await world.eventually(t, 'the shop is near its new position', async () => (await near()) === 1)
  const proposed = await world.proposal()
  t.true(proposed.includes('_geo = "spot"'), proposed)
  t.true(proposed.includes('area = { column = "area", as = "geojson" }'), proposed)
  t.false(proposed.includes('spatial_ref_sys'), proposed)
  await world.command('remove')
})

testNeeding(needs)('columns of pgvector arrive as vectors', async (t) => {
  t.timeout(180_000)
  // Without pgvector a type of the same name prints the same texts.
  const type = hasVector
    ? 'create extension vector'
    : `create type vector;
       create function vector_in(cstring) returns vector as 'textin' language internal strict immutable;
       create function vector_out(vector) returns cstring as 'textout' language internal strict immutable;
       create type vector (input = vector_in, output = vector_out, like = text)`
  await postgres.sql(`${type};
    create table films (id int primary key, title text, plot vector);
    insert into films values (1, 'Alien', '[1,0,0]'), (2, 'Brazil', '[0,1,0.5]'), (3, 'Dune', null)`)
  const films = {
    uid: 'films',
    table: 'films',
    fields: { id: 'id', title: 'title', plot: 'plot', _vectors: { vectors: { plots: 'plot' } } },
  }
  const world = await startWorld(t, postgres, { name: 'films', index: [films] })
  const embedders = { plots: { source: 'userProvided', dimensions: 3 } }
  await world.server.call('PATCH', '/indexes/films/settings', { embedders })
  world.run()
  await world.becomes(t, 'films', 2, { id: 2, title: 'Brazil', plot: [0, 1, 0.5] })
  const nearest = async (): Promise<unknown> => {
    const search = { vector: [0, 1, 0], hybrid: { embedder: 'plots', semanticRatio: 1 }, limit: 1 }
    return (await world.server.call('POST', '/indexes/films/search', search)).body.hits?.[0]?.title
  }
  t.is(await nearest(), 'Brazil')
  await postgres.sql(
    `update films set plot = case id when 3 then '[0,1,0]'::vector else '[0,0,1]'::vector end`,
  )
  await world.eventually(t, 'the nearest film is another', async () => (await nearest()) === 'Dune')
  t.true((await world.proposal()).includes('# _vectors = { vectors = { EMBEDDER = "plot" } }'))
  await world.command('remove')
})
