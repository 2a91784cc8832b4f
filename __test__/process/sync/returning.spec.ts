import type { ExecutionContext } from 'ava'
import type { TestPostgres } from '../../support/postgres.js'
import { testNeeding } from '../../support/test-needing.js'
import { needs, type SyncWorld, startPostgresFor, startWorld } from './world.js'

// Rule: a table or function that was missing for a while is followed again, as after the first start.

const runs = testNeeding(needs)
let postgres: TestPostgres
startPostgresFor((started) => {
  postgres = started
})

interface Case {
  readonly name: string
  readonly index: object
  readonly make: string
  /** Lets the sync notice that its documents cannot be read. */
  readonly remove: string
  /** Runs while they cannot be read. */
  readonly meanwhile: string
  readonly restore: string
  readonly copied: object
  readonly change: string
  readonly changed: object
}

const cases: readonly Case[] = [
  {
    name: 'a table that was dropped and created again',
    index: { uid: 'tools', table: 'tools' },
    make: `create table tools (id int primary key, name text); insert into tools values (1, 'saw')`,
    remove: 'drop table tools',
    meanwhile: 'select 1',
    restore: `create table tools (id int primary key, name text); insert into tools values (1, 'axe')`,
    copied: { id: 1, name: 'axe' },
    change: `update tools set name = 'rasp'`,
    changed: { id: 1, name: 'rasp' },
  },
  {
    name: 'a related table that was dropped and created again',
    index: {
      ...{ uid: 'songs', table: 'songs', related: [{ table: 'notes', key: ['song'] }] },
      query:
        'select s.id, (select max(n.text) from notes n where n.song = s.id) as note from songs s where s.id = any($1)',
    },
    make: `create table songs (id int primary key); create table notes (song int primary key, text text);
      insert into songs values (1); insert into notes values (1, 'a')`,
    remove: 'drop table notes',
    meanwhile: 'select 1',
    restore: `create table notes (song int primary key, text text); insert into notes values (1, 'b')`,
    copied: { id: 1, note: 'b' },
    change: `update notes set text = 'c'`,
    changed: { id: 1, note: 'c' },
  },
  {
    name: 'a function of a query that was dropped, while rows changed, and created again',
    index: {
      ...{ uid: 'words', table: 'words' },
      query: 'select w.id, loud(w.text) as text from words w where w.id = any($1)',
    },
    make: `create function loud(text) returns text language sql as 'select upper($1)';
      create table words (id int primary key, text text); insert into words values (1, 'a')`,
    remove: 'drop function loud',
    meanwhile: `update words set text = 'b'`,
    restore: `create function loud(text) returns text language sql as 'select upper($1)'`,
    copied: { id: 1, text: 'B' },
    change: `update words set text = 'c'`,
    changed: { id: 1, text: 'C' },
  },
]

for (const [
  at,
  { name, index, make, remove, meanwhile, restore, copied, change, changed },
] of cases.entries())
  runs(`the sync follows ${name}`, async (t) => {
    t.timeout(300_000)
    await postgres.sql(make)
    const world = await startWorld(t, postgres, { name: `returning${at}`, index: [index] })
    const { uid } = index as { readonly uid: string }
    world.run()
    await isState(t, world, `index ${uid}: ready`)
    await postgres.sql(remove)
    await isState(t, world, `index ${uid}: not updated`)
    await postgres.sql(meanwhile)
    await postgres.sql(restore)
    await world.becomes(t, uid, 1, copied)
    await postgres.sql(change)
    await world.becomes(t, uid, 1, changed)
    await world.command('remove')
  })

function isState(t: ExecutionContext, world: SyncWorld, expected: string): Promise<void> {
  return world.eventually(t, expected, async () =>
    (await world.command('status')).lines.some((line) => line.startsWith(expected)),
  )
}
