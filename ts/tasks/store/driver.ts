import { rmdirSync } from 'node:fs'
import { createRequire } from 'node:module'

export const driverNames = ['libsql', 'node:sqlite', 'node-sqlite3-wasm'] as const
export type DriverName = (typeof driverNames)[number]

/** Builds return blobs as one of the last two types. */
export type Value = string | number | null | Uint8Array | ArrayBuffer
export type Row = Readonly<Record<string, Value>>

/** A prepared statement; parameters are positional. */
export interface Statement {
  run(parameters: readonly Value[]): void
  all(parameters: readonly Value[]): readonly Row[]
}

/** The part of SQLite that the store uses, with one interface for three builds. */
export interface Connection {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

/** A build of SQLite that could be loaded. */
export interface Driver {
  readonly name: DriverName
  /**
   * Opens or creates the file. The caller owns the directory (`lock.ts`), so a lock left on the file by
   * a process that was killed may be removed.
   */
  open(path: string): Connection
}

/** No build of SQLite could be loaded; says why for each. */
export class DriverLoadError extends Error {
  override readonly name = 'DriverLoadError'
}

/** What a failure of SQLite means for callers, whichever build reported it. */
export type StoreFault = 'full' | 'busy' | 'corrupt' | 'io' | 'other'

/** Decided by the texts of errors, which come from SQLite itself: their codes differ between builds. */
export function storeFault(error: unknown): StoreFault {
  const message = error instanceof Error ? error.message : String(error)
  if (/database or disk is full|ENOSPC|EDQUOT/i.test(message)) return 'full'
  if (/database is locked/i.test(message)) return 'busy'
  if (/malformed|not a database/i.test(message)) return 'corrupt'
  if (/disk I\/O error/i.test(message)) return /corrupt/i.test(message) ? 'corrupt' : 'io'
  // SQLite opens a file for reading alone, or not at all, if the system fails to open it for writing.
  if (/readonly database|unable to open database/i.test(message)) return 'io'
  return 'other'
}

/**
 * The first build that loads, native ones first, and why those before it did not.
 * @param forced only this one is tried
 * @throws DriverLoadError
 */
export function loadDriver(forced?: DriverName): { driver: Driver; reasons: readonly string[] } {
  const reasons: string[] = []
  for (const name of forced === undefined ? driverNames : [forced]) {
    try {
      return { driver: loaders[name](), reasons }
    } catch (error) {
      reasons.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  throw new DriverLoadError(`no build of SQLite could be loaded: ${reasons.join('; ')}`)
}

const load = createRequire(import.meta.url)

const loaders: Readonly<Record<DriverName, () => Driver>> = {
  libsql: () => {
    interface Native {
      exec(sql: string): void
      prepare(sql: string): {
        run(parameters: readonly Value[]): unknown
        all(parameters: readonly Value[]): Row[]
      }
      close(): void
    }
    const Database = load('libsql') as new (path: string, options: { timeout: number }) => Native
    return {
      name: 'libsql',
      open: (path) => {
        const database = new Database(path, { timeout: 0 })
        return {
          exec: (sql) => database.exec(sql),
          prepare: (sql) => {
            const statement = database.prepare(sql)
            return {
              run: (parameters) => void statement.run(parameters),
              all: (parameters) => statement.all(parameters),
            }
          },
          close: () => database.close(),
        }
      },
    }
  },

  'node:sqlite': () => {
    interface Native {
      exec(sql: string): void
      prepare(sql: string): { run(...parameters: Value[]): unknown; all(...parameters: Value[]): Row[] }
      close(): void
    }
    const { DatabaseSync } = load('node:sqlite') as { DatabaseSync: new (path: string) => Native }
    return {
      name: 'node:sqlite',
      open: (path) => {
        const database = new DatabaseSync(path)
        return {
          exec: (sql) => database.exec(sql),
          prepare: (sql) => {
            const statement = database.prepare(sql)
            return {
              run: (parameters) => void statement.run(...parameters),
              all: (parameters) => statement.all(...parameters),
            }
          },
          close: () => database.close(),
        }
      },
    }
  },

  // Its file layer syncs with fs.fsyncSync, directories included after a deletion, so a commit is as
  // durable as elsewhere. It has no shared memory: write-ahead logging needs exclusive locking, which the
  // store asks for anyway. It locks by making a directory beside the file, which a killed process leaves
  // behind. Our own lock decides who owns the data, so a directory found here is of a process that is gone.
  'node-sqlite3-wasm': () => {
    interface Native {
      exec(sql: string): void
      prepare(sql: string): {
        run(parameters: Value[]): unknown
        all(parameters: Value[]): Row[]
        finalize(): void
      }
      close(): void
    }
    const { Database } = load('node-sqlite3-wasm') as { Database: new (path: string) => Native }
    return {
      name: 'node-sqlite3-wasm',
      open: (path) => {
        try {
          rmdirSync(`${path}.lock`)
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
        }
        const database = new Database(path)
        const open = new Set<{ finalize(): void }>()
        return {
          exec: (sql) => database.exec(sql),
          prepare: (sql) => {
            const statement = database.prepare(sql)
            open.add(statement)
            return {
              run: (parameters) => void statement.run([...parameters]),
              all: (parameters) => statement.all([...parameters]),
            }
          },
          close: () => {
            // An unfinalised statement would keep the file from closing.
            for (const statement of open) statement.finalize()
            database.close()
          },
        }
      },
    }
  },
}
