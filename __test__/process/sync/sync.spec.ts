import type { TestPostgres } from '../../support/postgres.js'
import { testNeeding } from '../../support/test-needing.js'
import { types, valueCases } from './values.js'
import { needs, startPostgresFor, startWorld } from './world.js'

// Rules:
// 1. The first run copies tables; later changes of rows change documents: inserts, updates, deletes, truncates, changed
//    keys, values that are stored apart from their row, rows of related tables, columns.
// 2. Values of all types become JSON without a loss.
// 3. A document that the target refuses is set aside with the reason; the others of its batch are added.
// 4. If slot or target have lost changes, all documents are copied again, and orphans are removed.
// 5. `check` names what the database lacks with a statement that solves it.

const runs = testNeeding(needs)
let postgres: TestPostgres
startPostgresFor((started) => {
  postgres = started
})

const pages = {
  uid: 'pages',
  table: 'films',
  query: `select f.id, f.title, (select json_agg(a.name order by a.name) from actors a where a.film_id = f.id) as actors
          from films f where f.id = any($1)`,
  related: [{ table: 'actors', key: ['film_id'] }],
}
const films = {
  uid: 'films',
  table: 'films',
  where: 'shown',
  fields: {
    id: 'id',
    name: 'title',
    year: { column: 'year', as: 'text' },
    loud: { sql: 'upper(title)' },
    _geo: { lat: 'lat', lng: 'lng' },
    plot: { sql: 'length(plot)' },
  },
}
const film = (id: number, name: string, year: string | null = '1999', plot: number | null = null) => ({
  ...{ id, name, year, loud: name.toUpperCase(), _geo: null, plot },
})

runs('rows are copied, and all kinds of changes follow', async (t) => {
  t.timeout(300_000)
  await postgres.sql(`
    create table films (id int primary key, title text, year int, lat float8, lng float8, plot text, shown bool default true);
    create table actors (film_id int, name text, primary key (film_id, name));
    create table parts (a text, b int, name text, primary key (a, b)) partition by list (b);
    create table parts_1 partition of parts for values in (1);
    create table parts_2 partition of parts default;
    insert into films (id, title, year, shown) values (1, 'Alien', 1979, true), (2, 'Brazil', 1985, true), (3, 'Secret', 2000, false);
    insert into actors values (1, 'Weaver');
    insert into parts values ('x/y', 1, 'one');
  `)
  const world = await startWorld(t, postgres, {
    name: 'changes',
    index: [films, pages, { uid: 'parts', table: 'parts', key: ['a', 'b'] }],
  })
  const dry = await world.command('run', '--dry-run')
  t.is(dry.lines[1], JSON.stringify(film(1, 'Alien', '1979')))
  t.is((await world.server.call('GET', '/indexes')).body.total, 0)
  const checked = await world.command('check')
  t.deepEqual([checked.code, checked.lines.at(-1)], [0, 'ready to sync 3 indexes'], checked.lines.join('\n'))

  world.run()
  await world.becomes(t, 'films', 1, film(1, 'Alien', '1979'))
  await world.becomes(t, 'films', 3, null)
  await world.becomes(t, 'pages', 1, { id: 1, title: 'Alien', actors: ['Weaver'] })
  await world.becomes(t, 'parts', '__x_2fy__1', { _key: '__x_2fy__1', a: 'x/y', b: 1, name: 'one' })

  const long = "(select string_agg(md5(i::text), '') from generate_series(1, 300) i)"
  await postgres.sql(`
    insert into films (id, title, plot) values (4, 'Dune', ${long});
    update films set shown = true where id = 3;
    update films set lat = 1, lng = 2 where id = 1;
    delete from films where id = 2;
    insert into actors values (4, 'Zendaya');
    update parts set b = 2 where b = 1;
  `)
  await world.becomes(t, 'films', 4, film(4, 'Dune', null, 9600))
  await world.becomes(t, 'films', 3, film(3, 'Secret', '2000'))
  await world.becomes(t, 'films', 2, null)
  await world.becomes(t, 'films', 1, { ...film(1, 'Alien', '1979'), _geo: { lat: 1, lng: 2 } })
  await world.becomes(t, 'pages', 4, { id: 4, title: 'Dune', actors: ['Zendaya'] })
  await world.becomes(t, 'parts', '__x_2fy__2', { _key: '__x_2fy__2', a: 'x/y', b: 2, name: 'one' })
  await world.becomes(t, 'parts', '__x_2fy__1', null)

  // The plot is not in the log of these updates.
  await postgres.sql(
    `update films set title = 'Dune 2', id = 40 where id = 4; update actors set film_id = 40 where film_id = 4`,
  )
  await world.becomes(t, 'films', 40, film(40, 'Dune 2', null, 9600))
  await world.becomes(t, 'films', 4, null)
  await world.becomes(t, 'pages', 40, { id: 40, title: 'Dune 2', actors: ['Zendaya'] })

  await postgres.sql(
    `begin; update films set title = 'undone'; rollback; truncate actors; truncate parts; insert into parts values ('p', 7, 'new')`,
  )
  await world.becomes(t, 'pages', 40, { id: 40, title: 'Dune 2', actors: null })
  await world.becomes(t, 'parts', '__p__7', { _key: '__p__7', a: 'p', b: 7, name: 'new' })
  t.is((await world.documents('parts')).length, 1)
  t.true((await world.documents('films')).every(({ name }) => name !== 'undone'))

  await postgres.sql(
    `alter table parts add column colour text default 'red'; alter table parts rename column name to label`,
  )
  await world.becomes(t, 'parts', '__p__7', { _key: '__p__7', a: 'p', b: 7, label: 'new', colour: 'red' })
  const status = await world.command('status')
  t.is(status.code, 0)
  t.true(status.lines.includes('index parts: ready, 1 document'), status.lines.join('\n'))

  // Drops a configured column. Only its index stops following its table.
  await postgres.sql(
    `alter table films rename column title to name; insert into parts values ('q', 8, 'more')`,
  )
  await world.becomes(t, 'parts', '__q__8', { _key: '__q__8', a: 'q', b: 8, label: 'more', colour: 'red' })
  await world.eventually(t, 'status names the missing column', async () =>
    (await world.command('status')).lines.some(
      (line) => line.includes('has no') || line.includes('no column `title`'),
    ),
  )
  await postgres.sql(
    `alter table films rename column name to title; update films set title = 'Back' where id = 1`,
  )
  await world.becomes(t, 'films', 1, { ...film(1, 'Back', '1979'), _geo: { lat: 1, lng: 2 } })
  await world.becomes(t, 'pages', 1, { id: 1, title: 'Back', actors: null })
  const verified = await world.command('verify')
  t.deepEqual([verified.code, verified.lines], [0, ['no differences']])
  await world.command('remove')
})

runs('values of all types become JSON without a loss', async (t) => {
  const columns = valueCases.map(({ type }, at) => `c${at} ${type}`)
  await postgres.sql(`${types} create table everything (id uuid primary key, ${columns.join(', ')});
    insert into everything values ('5e3f1c66-1d1f-4d3f-8a2e-0d9f3b6f7a10', ${valueCases.map(({ value }) => value).join(', ')})`)
  const world = await startWorld(t, postgres, {
    name: 'values',
    index: [{ uid: 'all', table: 'everything' }],
  })
  const { lines, errors } = await world.command('run', '--dry-run')
  const document = JSON.parse(lines[1] ?? errors.join()) as Record<string, unknown>
  for (const [at, { type, value, json }] of valueCases.entries())
    t.deepEqual(document[`c${at}`], json, `${type} ${value}`)
})

runs('a refused document is set aside, and its index goes on', async (t) => {
  t.timeout(180_000)
  await postgres.sql(`create table places (id int primary key, position jsonb);
    insert into places select i, '{"lat": 1, "lng": 2}' from generate_series(1, 20) i;
    update places set position = '{"lat": "north", "lng": 2}' where id = 7`)
  const fields = { id: 'id', _geo: 'position' }
  const world = await startWorld(t, postgres, {
    name: 'refused',
    index: [{ uid: 'places', table: 'places', fields }],
  })
  // The server checks positions only if the index uses them.
  await world.server.call('PATCH', '/indexes/places/settings', { filterableAttributes: ['_geo'] })
  world.run()
  await world.becomes(t, 'places', 20, { id: 20, _geo: { lat: 1, lng: 2 } })
  const dead = () => world.documents('_siftd_sync_dead_letters')
  await world.eventually(t, 'a dead letter', async () => (await dead()).length === 1)
  const [letter] = await dead()
  t.deepEqual([letter?.index, letter?.documentId], ['places', '7'])
  t.regex(String(letter?.reason), /invalid_document_geo_field/)
  t.is((await world.documents('places')).length, 19)
  await postgres.sql(`update places set position = '{"lat": 3, "lng": 2}' where id = 7`)
  await world.becomes(t, 'places', 7, { id: 7, _geo: { lat: 3, lng: 2 } })
  await world.eventually(t, 'no dead letter', async () => (await dead()).length === 0)
  await world.command('remove')
})

runs('a cast that fails stops its index only, until the row is corrected', async (t) => {
  t.timeout(180_000)
  await postgres.sql(`create table casts (id int primary key, price text); insert into casts values (1, '5')`)
  const fields = { id: 'id', price: { column: 'price', as: 'number' } }
  const world = await startWorld(t, postgres, {
    name: 'casts',
    index: [
      { uid: 'casts', table: 'casts', fields },
      { uid: 'plain', table: 'casts' },
    ],
  })
  world.run()
  await world.becomes(t, 'casts', 1, { id: 1, price: 5 })
  await postgres.sql(`insert into casts values (2, 'cheap')`)
  await world.becomes(t, 'plain', 2, { id: 2, price: 'cheap' })
  await postgres.sql(`insert into casts values (3, '7')`)
  await world.becomes(t, 'plain', 3, { id: 3, price: '7' })
  await world.becomes(t, 'casts', 3, null)
  await world.command('remove')
})

runs('lost changes of the slot or of the target are found, and everything is copied again', async (t) => {
  t.timeout(180_000)
  await postgres.sql(
    'create table notes (id int primary key, text text); insert into notes values (1, $$one$$), (2, $$two$$)',
  )
  const world = await startWorld(t, postgres, { name: 'lost', index: [{ uid: 'notes', table: 'notes' }] })
  const first = world.run()
  await world.becomes(t, 'notes', 2, { id: 2, text: 'two' })
  await world.eventually(t, 'the progress', async () =>
    (await world.command('status')).lines.some((line) => line.includes('ready')),
  )
  first.interrupt()
  t.is((await first.outcome).code, 0)

  await world.command('remove')
  await postgres.sql('delete from notes where id = 1; insert into notes values (3, $$three$$)')
  const second = world.run()
  await world.becomes(t, 'notes', 3, { id: 3, text: 'three' })
  await world.becomes(t, 'notes', 1, null)
  second.interrupt()
  t.true((await second.outcome).errors.some((line) => line.includes('the slot is new')))

  await postgres.sql('delete from notes where id = 2')
  const third = world.run()
  await world.becomes(t, 'notes', 2, null)
  third.interrupt()
  await third.outcome
  // The target loses its newest state, as if a backup had been restored.
  await world.server.call('POST', '/indexes/notes/documents', [{ id: 2, text: 'two' }])
  const { body } = await world.server.call('GET', '/indexes/_siftd_sync/documents/lost')
  await world.server.call('POST', '/indexes/_siftd_sync/documents', [{ ...body, position: '0/1' }])
  const fourth = world.run()
  await world.becomes(t, 'notes', 2, null)
  fourth.interrupt()
  t.true((await fourth.outcome).errors.some((line) => line.includes('the target is older than the slot')))

  await world.server.call('POST', '/indexes/notes/documents', [{ id: 3, text: 'wrong' }, { id: 9 }])
  await world.eventually(t, 'verify', async () => (await world.command('verify')).lines.length === 3)
  const repaired = await world.command('verify', '--repair')
  t.deepEqual(repaired.lines, [
    'index `notes`: document `3` is different',
    'index `notes`: document `9` is superfluous',
    '2 differences, repaired',
  ])
  await world.becomes(t, 'notes', 3, { id: 3, text: 'three' })
  await world.becomes(t, 'notes', 9, null)
})

runs('check names what the database lacks, with the statement that solves it', async (t) => {
  await postgres.sql(`create table heads (id int primary key, name text);
    create table tails (id int primary key, head_id int);
    create table keyless (name text); create role reader login; grant select on heads to reader`)
  const query = 'select id, name from heads where id = any($1)'
  const index = [
    { uid: 'heads', table: 'heads', query, related: [{ table: 'tails', key: ['head_id'] }] },
    { uid: 'keyless', table: 'keyless' },
    { uid: 'none', table: 'absent' },
  ]
  const world = await startWorld(t, postgres, { name: 'lacking', index })
  const { code, lines } = await world.command('check')
  const shown = lines.join('\n')
  t.is(code, 1)
  t.regex(
    shown,
    /`head_id` of deleted and changed rows of "public"."tails"\n +ALTER TABLE "public"."tails" REPLICA IDENTITY FULL;/,
  )
  t.regex(shown, /keyless has no primary key/)
  t.regex(shown, /there is no table absent/)
  t.regex(shown, /max_slot_wal_keep_size/)
  const refused = await world.command('run')
  t.is(refused.code, 1)
})
