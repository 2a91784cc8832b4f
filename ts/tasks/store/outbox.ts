import type { Connection } from './driver.js'
import { localValues, type ReplicatedTable, replicatedTables } from './replicated-tables.js'
import { changesText, merged, type OutboxPage, type RowChanges } from './row-changes.js'
import { number, text } from './rows.js'
import type { Sql } from './sql.js'

/** Numbers of transactions that were sent are not given again, which AUTOINCREMENT sees to. */
export const OUTBOX_TABLE = `CREATE TABLE IF NOT EXISTS outbox (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  changes TEXT NOT NULL
) STRICT`

/** Keys of the rows that the transaction under way has changed. */
const CHANGED_TABLE = `CREATE TEMP TABLE IF NOT EXISTS changed (
  source TEXT NOT NULL,
  key NOT NULL,
  PRIMARY KEY (source, key)
) WITHOUT ROWID`

/** Triggers of the connection alone: a store that no bucket follows pays nothing for them. */
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
 * What each transaction changed, kept in the same transaction until the bucket has it.
 *
 * A transaction that survives a crash of the process but maybe not a power cut is held back until a later one is
 * synced, so that the bucket never has what this store may lose.
 */
export class Outbox {
  readonly #sql: Sql
  /** Number of the last transaction that is synced, as far as this process knows; its first durable one tells it. */
  #durable = 0

  /** Whether a former process has kept changes. */
  static isIn(sql: Sql): boolean {
    return sql.all("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'outbox'").length > 0
  }

  /** Drops what a former process has kept. */
  static drop(connection: Connection): void {
    connection.exec('DROP TABLE IF EXISTS outbox')
  }

  /** Keeps changes from now on, beside those that a former process has kept. */
  constructor(connection: Connection, sql: Sql) {
    this.#sql = sql
    connection.exec(OUTBOX_TABLE)
    this.install(connection)
  }

  /** Makes what belongs to the connection, which also loses it with each change of where temporary tables lie. */
  install(connection: Connection): void {
    for (const made of [CHANGED_TABLE, ...triggers]) connection.exec(made)
    this.#sql.run('DELETE FROM changed')
  }

  /** Keeps what the transaction under way has changed; called before it is committed. */
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

  /** The transaction that was collected last is synced. */
  synced(): void {
    this.#durable = this.last()
  }

  /** Number of the transaction that was collected last, whether it was sent or not; 0 without any. */
  last(): number {
    return this.#sql.number("SELECT ifnull(max(seq), 0) AS n FROM sqlite_sequence WHERE name = 'outbox'", 'n')
  }

  /**
   * The oldest synced transactions, at least one if there is any.
   * @param charsMax of the changes of further ones, before they are merged
   * @param after number of a transaction: only later ones are given
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

  /** Number of the last synced transaction, as far as this process knows. */
  get durable(): number {
    return this.#durable
  }

  /** Number of transactions that were not sent. Their numbers have no gaps, so that they need not be counted one by one. */
  unsent(): number {
    return this.#sql.number(
      'SELECT ifnull(max(number) - (SELECT min(number) FROM outbox) + 1, 0) AS n FROM outbox',
      'n',
    )
  }

  /** Drops the transactions up to that number, which the bucket has. */
  sent(last: number): void {
    this.#sql.run('DELETE FROM outbox WHERE number <= ?', [last])
  }
}
