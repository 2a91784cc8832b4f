/**
 * Checks a task store from a snapshot or a bucket. Its checksums prove that it is intact, but not who wrote it: a
 * trigger could run endlessly, and an index id could name a directory outside the data directory.
 */
import { basename } from 'node:path'
import { requireIndexId } from '../../engine/index.js'
import { type Connection, Sql, text } from '../../sqlite/index.js'
import { OUTBOX_TABLE } from '../replicated/outbox.js'
import { ForeignStoreError } from './errors.js'
import { SCHEMA, SCHEMA_VERSION } from './schema.js'

/**
 * Checks tables, indexes, triggers and views before any of them is used. For an older version, only plain columns are
 * accepted. After its migration, which creates all triggers again, call `requireOwnTables`.
 * @throws ForeignStoreError
 */
export function requirePlainTables(connection: Connection, fresh: Connection): void {
  const sql = new Sql(connection)
  const version = sql.number('PRAGMA user_version', 'user_version')
  const objects = objectsOf(sql)
  if (version === 0 && objects.size === 0) return
  if (version === SCHEMA_VERSION) requireOwnTables(connection, fresh)
  else for (const [name, definition] of objects) if (!isPlain(definition)) throw notOurs(name)
}

/** Returns true if a definition makes SQLite compute nothing. Triggers are removed before a migration. */
const isPlain = (definition: string): boolean =>
  definition.startsWith('CREATE TRIGGER ') ||
  (/^CREATE TABLE [\w ,()]+$/.test(definition) && !/\b(AS|CHECK|COLLATE|DEFAULT [^0])/i.test(definition)) ||
  /^CREATE INDEX \w+ ON \w+ \([\w, ]+\)( WHERE \w+ (IS NULL|IS NOT NULL|= '\w+'))?$/.test(definition)

/**
 * Checks that a store of this version has exactly the tables, indexes and triggers of this program.
 * @param fresh an empty database, in which they are created for comparison
 * @throws ForeignStoreError
 */
export function requireOwnTables(connection: Connection, fresh: Connection): void {
  fresh.exec(SCHEMA)
  fresh.exec(OUTBOX_TABLE)
  const expected = objectsOf(new Sql(fresh))
  const found = objectsOf(new Sql(connection))
  for (const [name, definition] of found)
    if (canonical(expected.get(name) ?? '') !== canonical(definition)) throw notOurs(name)
  for (const name of expected.keys())
    if (!found.has(name) && !optional.has(name)) throw new ForeignStoreError(`it lacks the ${name}`)
}

/** Tables of stores that keep changes for a bucket. */
const optional: ReadonlySet<string> = new Set(['table `outbox`', 'table `sqlite_sequence`'])

const notOurs = (name: string): ForeignStoreError =>
  new ForeignStoreError(`it has the ${name}, which siftd creates differently or not at all`)

/** Name → SQL of all objects in a database, except those that SQLite adds itself. */
function objectsOf(sql: Sql): ReadonlyMap<string, string> {
  const rows = sql.all('SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL')
  return new Map(
    rows.map((row) => [
      `${text(row.type)} \`${text(row.name).slice(0, 100)}\``,
      text(row.sql).replace(/\s+/g, ' '),
    ]),
  )
}

/** Normalises tables whose columns were added later: ignores their order and added defaults. */
function canonical(definition: string): string {
  const table = /^(CREATE TABLE \w+ ?\()(.*)(\)[^()]*)$/.exec(definition)
  if (table === null) return definition
  const [, head, columns, tail] = table
  const parts = definitionsIn(columns!).map((column) => column.trim().replace(/ DEFAULT 0$/, ''))
  return `${head}${parts.sort().join(', ')}${tail}`
}

/** Splits at the commas outside of parentheses. */
function definitionsIn(columns: string): readonly string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (const [at, character] of [...columns].entries()) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (character !== ',' || depth !== 0) continue
    parts.push(columns.slice(start, at))
    start = at + 1
  }
  return [...parts, columns.slice(start)]
}

/** Checks the names that become paths. @throws ForeignStoreError */
export function requireOwnNames(connection: Connection): void {
  const sql = new Sql(connection)
  const ids =
    'SELECT id FROM catalogue UNION SELECT id FROM disposable UNION SELECT index_id FROM failed_commits'
  for (const { id } of sql.all(ids)) {
    try {
      requireIndexId(text(id))
    } catch (error) {
      throw new ForeignStoreError(error instanceof Error ? error.message : String(error))
    }
  }
  for (const { uid } of sql.all('SELECT uid FROM catalogue'))
    if (!/^[\w-]{1,512}$/.test(text(uid))) throw misnamed(text(uid), 'name of an index')
  for (const { payload } of sql.all('SELECT payload FROM contents WHERE payload IS NOT NULL'))
    if (!isFileName(text(payload))) throw misnamed(text(payload), 'name of an upload')
}

const misnamed = (name: string, what: string): ForeignStoreError =>
  new ForeignStoreError(`${JSON.stringify(name.slice(0, 100))} is no ${what}`)

const isFileName = (name: string): boolean => basename(name) === name && /^[\w-][\w.-]*$/.test(name)
