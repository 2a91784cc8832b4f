/** Random transactions on the shop. */
import type pg from 'pg'

type Random = () => number

interface Statement {
  readonly weight: number
  sql(random: Random): string
}

const upTo = (random: Random, count: number): number => 1 + Math.floor(random() * count)

/** A text that is stored apart from its row. */
const LONG_TEXT = `(select string_agg(md5(random()::text), '') from generate_series(1, 200))`

const someProducts = (random: Random, count: number): string =>
  `(select id from products order by id offset floor(random() * greatest((select count(*) from products) - ${count}, 0)) limit ${upTo(random, count)})`

const statements: readonly Statement[] = [
  {
    weight: 8,
    sql: (random) =>
      `insert into products (name, price, category_id, tags) select 'product ' || i, random() * 100, 1 + i % 20, array['t' || i] from generate_series(1, ${upTo(random, 20)}) i`,
  },
  {
    weight: 1,
    sql: (random) =>
      `insert into products (name, description) select 'many ' || i, ${LONG_TEXT} from generate_series(1, ${upTo(random, 40)}) i`,
  },
  {
    weight: 1,
    sql: (random) =>
      `insert into products (name, price) select 'bulk ' || i, i from generate_series(1, ${upTo(random, 2500)}) i`,
  },
  {
    weight: 12,
    sql: (random) =>
      `update products set name = 'changed ' || id, version = nextval('versions') where id in ${someProducts(random, 10)}`,
  },
  {
    weight: 3,
    sql: (random) =>
      `update products set description = ${LONG_TEXT}, version = nextval('versions') where id in ${someProducts(random, 3)}`,
  },
  {
    weight: 3,
    sql: (random) =>
      `update products set published = not published, version = nextval('versions') where id in ${someProducts(random, 10)}`,
  },
  {
    weight: 3,
    sql: (random) =>
      `update products set category_id = ${upTo(random, 20)}, version = nextval('versions') where id in ${someProducts(random, 5)}`,
  },
  {
    weight: 2,
    sql: (random) =>
      `update products set id = nextval('products_id_seq'), version = nextval('versions') where id in ${someProducts(random, 3)}`,
  },
  { weight: 5, sql: (random) => `delete from products where id in ${someProducts(random, 15)}` },
  { weight: 1, sql: (random) => `delete from products where id in ${someProducts(random, 1500)}` },
  {
    weight: 6,
    sql: (random) =>
      `insert into variants (product_id, sku, stock) select id, 'a b/' || ${upTo(random, 5)} || 'é_', 1 from products where id in ${someProducts(random, 10)} on conflict (product_id, sku) do update set stock = variants.stock + 1, version = nextval('versions')`,
  },
  {
    weight: 3,
    sql: () =>
      `update variants set sku = sku || '_', version = nextval('versions') where product_id in (select product_id from variants order by random() limit 3) and length(sku) < 60`,
  },
  {
    weight: 2,
    sql: () =>
      'delete from variants where product_id in (select product_id from variants order by random() limit 5)',
  },
  {
    weight: 6,
    sql: (random) =>
      `insert into translations select id, '${['de', 'fr', 'it'][upTo(random, 3) - 1]}', 'title ' || random() from products where id in ${someProducts(random, 10)} on conflict (product_id, lang) do update set title = excluded.title`,
  },
  {
    weight: 2,
    sql: () =>
      'delete from translations where product_id in (select product_id from translations order by random() limit 3)',
  },
  {
    weight: 2,
    sql: () =>
      `update translations set product_id = (select max(id) from products) where ctid = (select ctid from translations order by random() limit 1) and not exists (select from translations t where t.product_id = (select max(id) from products))`,
  },
  {
    weight: 1,
    sql: (random) => `update categories set name = 'category ' || random() where id = ${upTo(random, 20)}`,
  },
  {
    weight: 4,
    sql: (random) =>
      `insert into events select nextval('event_ids') * 7 % 2000 * 1000 + nextval('event_ids'), 'kind' from generate_series(1, ${upTo(random, 20)}) on conflict do nothing`,
  },
  {
    weight: 2,
    sql: () =>
      'update events set id = -id where id in (select id from events order by random() limit 3) and not exists (select from events e where e.id = -events.id)',
  },
  {
    weight: 1,
    sql: () => 'delete from events where id in (select id from events order by random() limit 10)',
  },
]

const rare: readonly string[] = [
  'truncate variants',
  'truncate translations',
  'truncate events',
  'truncate products',
  'truncate categories, translations',
]

const schemaChanges: readonly string[] = [
  `alter table variants add column if not exists colour text default 'red'`,
  'alter table variants drop column if exists colour',
  'alter table events add column if not exists weight int',
  'alter table events drop column if exists weight',
  'alter table variants rename column stock to amount',
  'alter table variants rename column amount to stock',
  'alter table variants alter column version type numeric',
]

const total = statements.reduce((sum, { weight }) => sum + weight, 0)

function pick(random: Random): string {
  let left = random() * total
  for (const { weight, sql } of statements) {
    left -= weight
    if (left < 0) return sql(random)
  }
  return statements[0]!.sql(random)
}

/** Runs a transaction. Conflicts with other transactions end it without a change. */
export async function randomTransaction(client: pg.Client, random: Random): Promise<void> {
  const parts = ['begin']
  const count = random() < 0.7 ? 1 : upTo(random, 6)
  for (let at = 0; at < count; at++) {
    const isUndone = random() < 0.15
    if (isUndone) parts.push('savepoint part')
    parts.push(pick(random))
    if (isUndone) parts.push(random() < 0.5 ? 'rollback to savepoint part' : 'release savepoint part')
  }
  if (random() < 0.01) parts.push(rare[Math.floor(random() * rare.length)]!)
  parts.push(random() < 0.12 ? 'rollback' : 'commit')
  try {
    for (const part of parts) await client.query(part)
  } catch (error) {
    await client.query('rollback')
    if (!isConflict(error)) throw error
  }
}

/** Changes the columns of a table. */
export async function randomSchemaChange(client: pg.Client, random: Random): Promise<string> {
  const sql = schemaChanges[Math.floor(random() * schemaChanges.length)]!
  await client.query(sql).catch((error: unknown) => {
    if (!isConflict(error)) throw error
  })
  return sql
}

/** Errors that random statements of several clients cause: duplicate keys, deadlocks, unknown columns after a rename. */
const isConflict = (error: unknown): boolean =>
  /^(23|40|42)/.test(String((error as { readonly code?: unknown }).code ?? ''))
