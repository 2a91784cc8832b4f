import { type Connection, number, type Sql, text } from '../../sqlite/index.js'
import { changesText, merged, type OutboxPage, type RowChanges } from './row-changes.js'
import { localValues, type ReplicatedTable, replicatedTables } from './tables.js'

/** AUTOINCREMENT ensures that numbers of sent transactions are not reused. */
export const OUTBOX_TABLE = `CREATE TABLE IF NOT EXISTS outbox (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  changes TEXT NOT NULL
) STRICT`

/** Keys of the rows changed by the current transaction. */
const CHANGED_TABLE = `CREATE TEMP TABLE IF NOT EXISTS changed (
  source TEXT NOT NULL,
  key NOT NULL,
  PRIMARY KEY (source, key)
) WITHOUT ROWID`

/** Triggers of this connection only, so that a store without followers has no overhead. */
const triggers = replicatedTables.flatMap(({ name, key }) => {
  const isLocal = (row: string): string =>
    name === 'instance'
      ? `WHEN ${row}.name NOT IN (${localValues.map((value) => `'${value}'`).join(', ')})`
      : ''
  const noted = (row: string): string => `INSERT OR IGNORE INTO changed VALUES ('${name}', ${row}.${key});`
  return [
    ['added', 'INSERT', 'NEW'],
    ['edited', 'UPDATE', 'NEW'],
    ['dropped', 'DELETE', 'OLD'],
  ].map(
    ([event, operation, row]) => `CREATE TEMP TRIGGER IF NOT EXISTS ${name}_${event} AFTER ${operation}
      ON main.${name} ${isLocal(row!)} BEGIN ${noted(row!)} END`,
  )
})

/**
 * Row changes of each transaction, stored in the same transaction until the bucket has them.
 *
 * A transaction may survive a crash of the process but not a power cut. It is held back until a later one is synced. So
 * this store cannot lose changes that the bucket has.
 */
export class Outbox {
  readonly #sql: Sql
  /** Number of the last transaction known to be synced. Set by the first durable transaction of this process. */
  #durable = 0

  /** Returns true if a previous process has kept changes. */
  static isIn(sql: Sql): boolean {
    return sql.all("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'outbox'").length > 0
  }

  /** Drops the changes that a previous process has kept. */
  static drop(connection: Connection): void {
    connection.exec('DROP TABLE IF EXISTS outbox')
  }

  /** Keeps changes from now on, in addition to those of a previous process. */
  constructor(connection: Connection, sql: Sql) {
    this.#sql = sql
    connection.exec(OUTBOX_TABLE)
    this.install(connection)
  }

  /** Creates the temporary table and triggers. The connection loses them when its `temp_store` changes. */
  install(connection: Connection): void {
    for (const made of [CHANGED_TABLE, ...triggers]) connection.exec(made)
    this.#sql.run('DELETE FROM changed')
  }

  /** Stores the row changes of the current transaction. Called before it is committed. */
  collect(): void {
    const sources = new Set(
      this.#sql.all('SELECT DISTINCT source FROM changed').map((row) => text(row.source)),
    )
    if (sources.size === 0) return
    const changes = changesText(
      replicatedTables.filter(({ name }) => sources.has(name)).map((table) => this.#changesOf(table)),
    )
    this.#sql.run('INSERT INTO outbox (changes) VALUES (?)', [changes])
    this.#sql.run('DELETE FROM changed')
  }

  #changesOf({ name, key, columns }: ReplicatedTable): readonly [string, string, string] {
    const keys = 'SELECT key FROM changed WHERE source = ?'
    return [
      name,
      this.#sql.packed(columns, `SELECT * FROM ${name} WHERE ${key} IN (${keys})`, [name]),
      this.#sql.packed('key', `${keys} AND key NOT IN (SELECT ${key} FROM ${name})`, [name]),
    ]
  }

  /** Records that the last collected transaction is synced. */
  synced(): void {
    this.#durable = this.last()
  }

  /** Number of the last collected transaction, sent or not; 0 if none. */
  last(): number {
    return this.#sql.number("SELECT ifnull(max(seq), 0) AS n FROM sqlite_sequence WHERE name = 'outbox'", 'n')
  }

  /**
   * Returns the oldest synced transactions: at least one if any exists.
   * @param charsMax limit for the changes of all but the first transaction, before they are merged
   * @param after only later transactions than this number are returned
   */
  page(charsMax: number, after: number): OutboxPage | null {
    const taken: RowChanges[] = []
    let [last, chars] = [after, 0]
    for (;;) {
      const [row] = this.#sql.all(
        'SELECT number, changes FROM outbox WHERE number > ? AND number <= ? ORDER BY number LIMIT 1',
        [last, this.#durable],
      )
      if (row === undefined) break
      const changes = text(row.changes)
      chars += changes.length
      if (taken.length > 0 && chars > charsMax) break
      taken.push(JSON.parse(changes) as RowChanges)
      last = number(row.number)
    }
    return taken.length === 0 ? null : { last, changes: merged(taken), isCut: last < this.#durable }
  }

  /** Number of the last transaction known to be synced. */
  get durable(): number {
    return this.#durable
  }

  /** Number of unsent transactions. Their numbers have no gaps, so the first and last are enough. */
  unsent(): number {
    return this.#sql.number(
      'SELECT ifnull(max(number) - (SELECT min(number) FROM outbox) + 1, 0) AS n FROM outbox',
      'n',
    )
  }

  /** Drops the transactions up to that number, as the bucket has them. */
  sent(last: number): void {
    this.#sql.run('DELETE FROM outbox WHERE number <= ?', [last])
  }
}
