import {
  type Connection,
  type DriverName,
  loadDriver,
  type Statement,
  type Value,
} from '../../ts/sqlite/driver.js'
import type { World } from './world.js'

/** Columns, and the rest of a query from `FROM` on. */
export interface Query {
  readonly columns: readonly string[]
  readonly rest: string
}

const texts = new WeakMap<readonly Query[], string>()

/** Returns one statement for all queries. */
function textsOf(queries: readonly Query[]): string {
  const known = texts.get(queries)
  if (known !== undefined) return known
  const parts = queries.map(({ columns, rest }, at) => {
    const pairs = columns.map((column) => `'${column}', ${column}`).join(', ')
    return `(SELECT json_group_array(json_object(${pairs})) FROM (SELECT ${columns.join(', ')} ${rest})) AS q${at}`
  })
  const sql = `SELECT ${parts.join(', ')}`
  texts.set(queries, sql)
  return sql
}

const full = () => new Error('database or disk is full')

/**
 * An in-memory task store with the faults of a disk: a power cut loses transactions that were not synced, the disk can
 * be full, and a sync can fail.
 *
 * Commits are savepoints in one open transaction, which only a synced commit ends.
 */
export class Disk implements Connection {
  readonly #world: World
  readonly #driver: DriverName | undefined
  readonly #real: Connection
  /** Prepared statements, which all stores of this disk use. Preparing them dominates a short run otherwise. */
  readonly #prepared = new Map<string, Statement>()
  #isOpen = false
  #inTransaction = false
  #isSynced = true
  #isFull = false
  #failsNextSync = false
  /** Writes that still fit on a full disk after its reserve was given up. */
  #slack = 0
  #reserved = true

  /** @param driver the SQLite build; absent: the one that siftd would choose here */
  constructor(world: World, driver?: DriverName) {
    this.#world = world
    this.#driver = driver
    this.#real = loadDriver(driver).driver.open(':memory:')
  }

  /** Called after each transaction. */
  committed: () => void = () => undefined

  /** The mark next to the store. It survives each power cut, which is the worst case for the store. */
  mark: { readonly identity: string; readonly sequence: number } | null = null

  /** The reserve of this disk. */
  readonly reserve = {
    hold: () => {
      if (!this.#isFull) this.#reserved = true
      return this.#reserved
    },
    giveUp: () => {
      if (this.#reserved) this.#slack = 3
      this.#reserved = false
    },
  }

  fill(): void {
    this.#isFull = true
  }

  free(): void {
    this.#isFull = false
  }

  failNextSync(): void {
    this.#failsNextSync = true
  }

  get isFull(): boolean {
    return this.#isFull
  }

  heal(): void {
    this.#isFull = false
    this.#failsNextSync = false
  }

  /** Loses the transactions that were not synced. */
  cutPower(): void {
    if (this.#isOpen) this.#real.exec('ROLLBACK')
    this.#isOpen = false
    this.#inTransaction = false
  }

  /** Reads rows directly from the database. @param rest of the query, from `FROM` on */
  rows<C extends string>(columns: readonly C[], rest: string): readonly Readonly<Record<C, Value>>[] {
    const [text] = this.texts([{ columns, rest }])
    return JSON.parse(text ?? '') as Record<C, Value>[]
  }

  /**
   * Reads rows of several queries directly from the database.
   * @returns for each query its rows as JSON, because reading single rows through the driver dominates a run
   */
  texts(queries: readonly Query[]): readonly string[] {
    const [found] = this.#statement(textsOf(queries)).all([])
    return queries.map((_, at) => String(found?.[`q${at}`]))
  }

  /** Copies everything into a new file when a copy begins. */
  readonly copying = {
    begin: (path: string): void => {
      const copy = loadDriver(this.#driver).driver.open(path)
      copyTables(this.#real, copy)
      copy.close()
    },
    open: (path: string): Connection => loadDriver(this.#driver).driver.open(path),
    end: (): void => undefined,
  }

  /** Loads the content of a file. */
  load(path: string): void {
    const file = loadDriver(this.#driver).driver.open(path)
    copyTables(file, this.#real)
    file.close()
  }

  destroy(): void {
    this.#real.close()
  }

  exec(sql: string): void {
    if (sql.startsWith('PRAGMA synchronous')) this.#isSynced = sql.endsWith('FULL')
    else if (/^PRAGMA (locking_mode|journal_mode|temp_store)/.test(sql)) return
    else if (sql === 'BEGIN IMMEDIATE') this.#begin()
    else if (sql === 'COMMIT') this.#commit()
    else if (sql === 'ROLLBACK') this.#rollback()
    else this.#real.exec(sql)
  }

  #statement(sql: string): Statement {
    const statement = this.#prepared.get(sql) ?? this.#real.prepare(sql)
    this.#prepared.set(sql, statement)
    return statement
  }

  prepare(sql: string): Statement {
    const statement = this.#statement(sql)
    return {
      all: (parameters) => statement.all(parameters),
      run: (parameters) => {
        if (this.#isFull && this.#slack === 0 && this.#world.chance(0.3)) {
          // SQLite may then roll back the complete transaction itself.
          if (this.#world.chance(0.5)) this.#rollback()
          throw full()
        }
        statement.run(parameters)
      },
    }
  }

  close(): void {
    if (this.#isOpen) this.#real.exec('COMMIT')
    this.#isOpen = false
  }

  #begin(): void {
    this.#real.exec(this.#isOpen ? 'SAVEPOINT written' : 'BEGIN; SAVEPOINT written')
    this.#isOpen = true
    this.#inTransaction = true
  }

  #commit(): void {
    if (!this.#inTransaction) throw new Error('cannot commit - no transaction is active')
    if (this.#isFull && this.#slack === 0) {
      this.#rollback()
      throw full()
    }
    if (this.#isFull) this.#slack--
    if (this.#isSynced && this.#failsNextSync) {
      this.#failsNextSync = false
      this.#world.note('a sync fails')
      // A real store then overwrites the frames left by the failed sync. `faults.spec.ts` tests this on a real disk.
      this.#rollback()
      throw new Error('disk I/O error')
    }
    this.#real.exec(this.#isSynced ? 'RELEASE written; COMMIT' : 'RELEASE written')
    this.#inTransaction = false
    if (this.#isSynced) this.#isOpen = false
    this.committed()
  }

  #rollback(): void {
    if (!this.#inTransaction) throw new Error('cannot rollback - no transaction is active')
    this.#real.exec('ROLLBACK TO written; RELEASE written')
    this.#inTransaction = false
  }
}

/** Copies tables and the header fields in use to an empty connection. */
function copyTables(from: Connection, to: Connection): void {
  const made = from
    .prepare('SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid')
    .all([])
  const isOwn = (name: Value | undefined): boolean => !String(name).startsWith('sqlite_')
  to.exec('BEGIN')
  const tables = made.filter(
    ({ type, name }) => type === 'table' && (isOwn(name) || name === 'sqlite_sequence'),
  )
  for (const { name, sql } of tables) if (isOwn(name)) to.exec(String(sql))
  for (const { name } of tables) {
    const rows = from.prepare(`SELECT * FROM ${name}`).all([])
    const columns = Object.keys(rows[0] ?? {})
    if (columns.length === 0) continue
    const places = columns.map(() => '?').join(', ')
    const inserted = to.prepare(`INSERT INTO ${name} (${columns.join(', ')}) VALUES (${places})`)
    // A SQLite build returns blobs in a type that it does not accept as a parameter.
    const taken = (value: Value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value)
    for (const row of rows) inserted.run(Object.values(row).map(taken))
  }
  // Created after the rows, because triggers would repeat their changes.
  for (const { type, name, sql } of made) if (type !== 'table' && isOwn(name)) to.exec(String(sql))
  for (const name of ['application_id', 'user_version'])
    to.exec(`PRAGMA ${name} = ${from.prepare(`PRAGMA ${name}`).all([])[0]?.[name]}`)
  to.exec('COMMIT')
}
