/** Tables, columns and keys, from the catalogue of the database. */
import type { Database } from './database.js'
import { quoted } from './names.js'

export interface Column {
  readonly name: string
  /** As in SQL, such as `numeric(10,2)`. */
  readonly type: string
  /** Name of the type without a domain and without modifiers, such as `numeric`, `_int4`, `geometry`. */
  readonly base: string
  /** Modifier of the type; -1: none. */
  readonly modifier: number
}

export interface Table {
  readonly oid: string
  readonly schema: string
  readonly name: string
  /** `schema.name` in SQL. */
  readonly sql: string
  readonly columns: readonly Column[]
  /** Columns of the primary key; empty if there is none. */
  readonly primaryKey: readonly string[]
  /** Columns that the log holds of a deleted row, of the replica identity. */
  readonly identity: readonly string[]
  /** True if this is the child of a partitioned table. */
  readonly isPartition: boolean
  readonly estimatedRows: number
}

/** Returns a table; null if it does not exist. @param name as in SQL, with or without a schema */
export async function findTable(database: Database, name: string): Promise<Table | null> {
  const [found] = await database.rows<Record<string, string>>(
    `reading the table ${name}`,
    `select c.oid::text as oid, n.nspname as schema, c.relname as name, c.relreplident as identity,
       c.relispartition::text as partition, greatest(c.reltuples, 0)::bigint::text as rows
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.oid = to_regclass($1) and c.relkind in ('r', 'p')`,
    [name],
  )
  if (found === undefined) return null
  const { oid, schema, identity } = found as { oid: string; schema: string; identity: string }
  const columns = await columnsOf(database, oid)
  const indexes = await database.rows<Record<string, string>>(
    `reading the keys of ${name}`,
    `select i.indisprimary::text as primary, i.indisreplident::text as identity, a.attname as column
     from pg_index i cross join lateral unnest(i.indkey) with ordinality k(number, at)
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
     where i.indrelid = $1::oid and (i.indisprimary or i.indisreplident) and i.indisvalid
     order by i.indexrelid, k.at`,
    [oid],
  )
  const having = (flag: string) =>
    indexes.filter((row) => row[flag] === 'true').map(({ column }) => column ?? '')
  const primaryKey = having('primary')
  const identities: Readonly<Record<string, readonly string[]>> = {
    d: primaryKey,
    f: columns.map(({ name }) => name),
    i: having('identity'),
    n: [],
  }
  return {
    oid,
    schema,
    name: found.name ?? '',
    sql: `${quoted(schema)}.${quoted(found.name ?? '')}`,
    columns,
    primaryKey,
    identity: identities[identity] ?? [],
    isPartition: found.partition === 'true',
    estimatedRows: Number(found.rows),
  }
}

/** SQL for the type under all domains of the type `t`, and its modifier. */
const BASE_TYPE = `
  cross join lateral (
    with recursive chain as (
      select t.typname, t.typbasetype, t.typtypmod, -1 as modifier
      union all
      select b.typname, b.typbasetype, b.typtypmod, greatest(c.modifier, c.typtypmod)
      from chain c join pg_type b on b.oid = c.typbasetype
    )
    select typname, modifier from chain where typbasetype = 0 limit 1
  ) base`

async function columnsOf(database: Database, oid: string): Promise<readonly Column[]> {
  const rows = await database.rows<Record<string, string>>(
    'reading columns',
    `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, base.typname as base,
       greatest(a.atttypmod, base.modifier)::text as modifier
     from pg_attribute a join pg_type t on t.oid = a.atttypid ${BASE_TYPE}
     where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    [oid],
  )
  return rows.map(column)
}

/** Returns the columns of a query. @param values parameters of the query */
export async function queryColumns(
  database: Database,
  sql: string,
  values: readonly unknown[],
): Promise<readonly Column[]> {
  const fields = await database.fields('preparing the query', `select * from (${sql}) q limit 0`, values)
  const rows = await database.rows<Record<string, string>>(
    'reading types',
    `select f.name, format_type(t.oid, f.modifier) as type, base.typname as base,
       greatest(f.modifier, base.modifier)::text as modifier
     from unnest($1::text[], $2::oid[], $3::int[]) with ordinality f(name, type, modifier, at)
       join pg_type t on t.oid = f.type ${BASE_TYPE} order by f.at`,
    [
      fields.map(({ name }) => name),
      fields.map(({ dataTypeID }) => dataTypeID),
      fields.map(({ dataTypeModifier }) => dataTypeModifier),
    ],
  )
  return rows.map(column)
}

const column = ({ name = '', type = '', base = '', modifier }: Record<string, string>): Column => ({
  name,
  type,
  base,
  modifier: Number(modifier),
})
