import { rmdirSync } from 'node:fs'
import { createRequire } from 'node:module'

export const driverNames = ['libsql', 'node:sqlite', 'node-sqlite3-wasm'] as const
export type DriverName = (typeof driverNames)[number]

/** Depending on the build, blobs are returned as one of the last two types. */
export type Value = string | number | null | Uint8Array | ArrayBuffer
export type Row = Readonly<Record<string, Value>>

/** A prepared statement; parameters are positional. */
export interface Statement {
  run(parameters: readonly Value[]): void
  all(parameters: readonly Value[]): readonly Row[]
}

/** The part of SQLite that the store uses. Three builds implement it. */
export interface Connection {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

/** A loaded build of SQLite. */
export interface Driver {
  readonly name: DriverName
  /**
   * Opens or creates the file. The caller owns the directory (`lock.ts`), so a lock on the file left by a killed
   * process may be removed.
   */
  open(path: string): Connection
}

/** No build of SQLite could be loaded. Has the reason for each. */
export class DriverLoadError extends Error {
  override readonly name = 'DriverLoadError'
}

/** Classifies failures of all builds of SQLite. */
type StoreFault = 'full' | 'busy' | 'corrupt' | 'io' | 'other'

/** Classifies by error message, because the codes differ between builds. The messages come from SQLite itself. */
export function storeFault(error: unknown): StoreFault {
  const message = error instanceof Error ? error.message : String(error)
  if (/database or disk is full|ENOSPC|EDQUOT/i.test(message)) return 'full'
  if (/database is locked/i.test(message)) return 'busy'
  if (/malformed|not a database/i.test(message)) return 'corrupt'
  if (/disk I\/O error/i.test(message)) return /corrupt/i.test(message) ? 'corrupt' : 'io'
  // SQLite reports these if the system fails to open the file for writing, or at all.
  if (/readonly database|unable to open database/i.test(message)) return 'io'
  return 'other'
}

/**
 * Loads the first build that works, native builds first. Also returns why the builds before it failed.
 * @param forced the only build to try
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

  // Its file layer syncs with fs.fsyncSync, including directories after a deletion, so commits are as durable as with
  // the other builds. It has no shared memory, so write-ahead logging needs exclusive locking, which the store requests
  // anyway. It locks by creating a directory next to the file, which a killed process leaves behind. Our own lock
  // decides the ownership of the data, so an existing directory is stale.
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
            // A statement that is not finalised keeps the file open.
            for (const statement of open) statement.finalize()
            database.close()
          },
        }
      },
    }
  },
}
