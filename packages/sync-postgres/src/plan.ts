/** SQL that reads the documents of a mapping. */
import { createHash } from 'node:crypto'
import type {
  Key,
  Mapping,
  MappingFacts,
  SourceDocument,
  SourcePage,
} from '../../../ts/transfer/sync/source.js'
import { type Column, findTable, queryColumns, type Table } from './catalogue.js'
import type { Database } from './database.js'
import { columnExpression, fieldExpression, isOmitted } from './expressions.js'
import { quoted } from './names.js'
import { PostgresError } from './source-error.js'

/** A related table with its SQL. */
export interface PlannedRelation {
  readonly table: Table
  readonly columns: readonly string[]
  /** Returns the keys that values of `columns` touch, given as one array per column. */
  keysOf(values: readonly Key[]): Promise<readonly Key[]>
}

/** How the documents of a mapping are read. Valid until a table changes. */
export interface Plan {
  readonly uid: string
  readonly facts: MappingFacts
  readonly table: Table
  /** Names of the key columns. */
  readonly key: readonly string[]
  /** Names of key columns of type `char(n)`, whose texts are padded with spaces. */
  readonly padded: ReadonlySet<string>
  readonly relations: readonly PlannedRelation[]
  read(keys: readonly Key[]): Promise<readonly SourceDocument[]>
  page(after: Key | null, rows: number): Promise<SourcePage>
}

const DEFAULT_KEY_FIELD = '_key'
const integerTypes = ['int2', 'int4', 'int8']

/** @throws PostgresError if the tables do not have what the mapping names */
export async function makePlan(database: Database, mapping: Mapping): Promise<Plan> {
  const table = await tableOf(database, mapping.table)
  const key = mapping.key ?? table.primaryKey
  if (key.length === 0)
    throw new PostgresError(`${mapping.table} has no primary key: name unique columns as \`key\``, false)
  const keyColumns = key.map((name) => columnOf(table, name))
  const rows = mapping.where === null ? table.sql : `(select * from ${table.sql} where (${mapping.where}))`
  const arrays = keyColumns.map(({ type }, at) => `$${at + 1}::text[]::${arrayOf(type)}`)
  const documents =
    mapping.query === null
      ? rowDocuments(mapping, table, key, rows)
      : await queryDocuments(database, mapping, mapping.query, key, keyColumns)
  const keyTexts = key.map((name) => `t.${quoted(name)}::text`).join(', ')
  const isAmong =
    key.length === 1
      ? `t.${quoted(key[0]!)} = any(${arrays[0]})`
      : `(${key.map((name) => `t.${quoted(name)}`).join(', ')}) in (select * from unnest(${arrays.join(', ')}))`
  // The query has its own condition on keys.
  const readSql = `select ${keyTexts}, to_json(e)::text from ${documents.rows} t ${documents.fields}${
    mapping.query === null ? ` where ${isAmong}` : ''
  }`
  const values = keyColumns.map(({ type }, at) => `$${at + 1}::text::${type}`)
  const order = key.map((name) => `t.${quoted(name)}`).join(', ')
  const pageOf = (isFirst: boolean, what: string, fields: string, rowCount: number) =>
    `select ${what} from ${rows} t ${fields}${isFirst ? '' : ` where (${order}) > (${values.join(', ')})`}
     order by ${order} limit ${rowCount}`
  const read: Plan['read'] = async (keys) => {
    if (keys.length === 0) return []
    const columns = key.map((_, at) => keys.map((one) => one[at]))
    const lists = await database.lists(`reading documents of \`${mapping.uid}\``, readSql, columns)
    return documentsOf(lists, key.length)
  }
  const relations: PlannedRelation[] = []
  for (const { table: name, key: columns, query } of mapping.related) {
    const related = await tableOf(database, name)
    for (const column of columns) columnOf(related, column)
    relations.push({
      table: related,
      columns,
      keysOf: async (all) => {
        if (query === null || all.length === 0) return all
        const parameters = columns.map((_, at) => all.map((one) => one[at]))
        return (await database.lists(`reading keys by ${name}`, query, parameters)).map(asKey)
      },
    })
  }
  const primaryKey = mapping.primaryKey ?? documents.keyField ?? DEFAULT_KEY_FIELD
  const hasNumberId = key.length === 1 && integerTypes.includes(keyColumns[0]!.base)
  return {
    uid: mapping.uid,
    facts: {
      primaryKey,
      keyColumns: key.length,
      estimatedRows: mapping.where === null ? table.estimatedRows : 0,
      hasNumberId,
      fingerprint: createHash('sha256')
        .update(
          JSON.stringify([
            ...[readSql, primaryKey, hasNumberId, table.oid, documents.types, mapping.related],
            ...[relations.map((one) => one.table.oid)],
          ]),
        )
        .digest('hex')
        .slice(0, 16),
    },
    table,
    key,
    padded: new Set(keyColumns.filter(({ base }) => base === 'bpchar').map(({ name }) => name)),
    relations,
    read,
    async page(after, rowCount) {
      const doing = `copying ${mapping.table}`
      const parameters = after === null ? [] : [...after]
      if (mapping.query === null) {
        const what = `${keyTexts}, to_json(e)::text`
        const sql = pageOf(after === null, what, documents.fields, rowCount)
        const lists = await database.lists(doing, sql, parameters)
        return { documents: documentsOf(lists, key.length), last: lastKey(lists, key.length, rowCount) }
      }
      const lists = await database.lists(doing, pageOf(after === null, keyTexts, '', rowCount), parameters)
      return { documents: await read(lists.map(asKey)), last: lastKey(lists, key.length, rowCount) }
    },
  }
}

async function tableOf(database: Database, name: string): Promise<Table> {
  const table = await findTable(database, name)
  if (table === null) throw new PostgresError(`there is no table ${name}`, false)
  return table
}

function columnOf({ columns, schema, name: table }: Table, name: string): Column {
  const found = columns.find((one) => one.name === name)
  if (found === undefined) throw new PostgresError(`${schema}.${table} has no column \`${name}\``, false)
  return found
}

/** `numeric(10,2)` → `numeric(10,2)[]`; domains and enums have arrays too. */
const arrayOf = (type: string): string => `${type}[]`

interface PlannedDocuments {
  /** SQL expression with the alias `t`. */
  readonly rows: string
  /** Join that makes `e` the document. */
  readonly fields: string
  /** Field of the only key column, if the mapping does not name the field of the id. */
  readonly keyField: string | null
  /** Types of the fields, for the fingerprint. */
  readonly types: readonly string[]
}

function rowDocuments(
  mapping: Mapping,
  table: Table,
  key: readonly string[],
  rows: string,
): PlannedDocuments {
  const { columns } = table
  const sources =
    mapping.fields ??
    Object.fromEntries(columns.filter((one) => !isOmitted(one)).map(({ name }) => [name, name]))
  const isKeyColumn = (source: unknown): boolean => key.length === 1 && source === key[0]
  const keyField = Object.keys(sources).find((name) => isKeyColumn(sources[name])) ?? key[0]!
  const idField = mapping.primaryKey ?? (key.length === 1 ? keyField : DEFAULT_KEY_FIELD)
  const fields = Object.entries(sources).filter(([name]) => name !== idField)
  return {
    rows,
    fields: joined(fields.map(([name, source]) => [name, fieldExpression(name, source, columns)])),
    keyField: key.length === 1 ? keyField : null,
    types: columns.map(({ name, type }) => `${name} ${type}`),
  }
}

async function queryDocuments(
  database: Database,
  mapping: Mapping,
  query: string,
  key: readonly string[],
  keyColumns: readonly Column[],
): Promise<PlannedDocuments> {
  const columns = await queryColumns(
    database,
    query,
    keyColumns.map(() => []),
  )
  const missing = key.find((name) => !columns.some((one) => one.name === name))
  if (missing !== undefined)
    throw new PostgresError(
      `the query of \`${mapping.uid}\` must return the key column \`${missing}\``,
      false,
    )
  const idField = mapping.primaryKey ?? (key.length === 1 ? key[0]! : DEFAULT_KEY_FIELD)
  const fields = columns.filter((one) => one.name !== idField && !isOmitted(one))
  return {
    rows: `(${query})`,
    fields: joined(fields.map((one) => [one.name, columnExpression(`t.${quoted(one.name)}`, one)])),
    keyField: key.length === 1 ? key[0]! : null,
    types: columns.map(({ name, type }) => `${name} ${type}`),
  }
}

const joined = (fields: readonly (readonly [string, string])[]): string =>
  `cross join lateral (select ${fields.map(([name, sql]) => `${sql} as ${quoted(name)}`).join(', ')}) e`

const asKey = (list: readonly (string | null)[]): Key => list.map((value) => value ?? '')

const documentsOf = (lists: readonly (string | null)[][], width: number): readonly SourceDocument[] =>
  lists.map((list) => ({ key: asKey(list.slice(0, width)), json: list[width] ?? '{}' }))

function lastKey(lists: readonly (string | null)[][], width: number, rows: number): Key | null {
  const last = lists.at(-1)
  return last === undefined || lists.length < rows ? null : asKey(last.slice(0, width))
}
