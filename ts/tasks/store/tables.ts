/** Creates the tables of a new store, or migrates those of an older version. */

import { type Connection, Sql, text } from '../../sqlite/index.js'
import { rebuildSets } from '../listing/membership.js'
import { IDENTITY_STORED_AS } from '../replicated/tables.js'
import { DamagedStoreError } from './errors.js'
import {
  LAST_WITH_OTHER_SETS,
  LAST_WITHOUT_SEALS,
  MIGRATIONS,
  SCHEMA,
  SCHEMA_VERSION,
  TRIGGERS,
} from './schema.js'
import { sealRows } from './sealed-rows.js'

/** Options for checking an existing store. */
export interface ExpectedStore {
  /** True if its pages match their checksums. If false, SQLite checks the integrity of the file. */
  readonly isCompared: boolean
  /** Identity that the store must have; null if unknown. */
  readonly identity: string | null
}

/**
 * @param connection to a store of a version that `SCHEMA_VERSION` or `MIGRATIONS` names, or without tables
 * @throws DamagedStoreError
 */
export function prepareTables(connection: Connection, expected: ExpectedStore): void {
  const sql = new Sql(connection)
  const version = sql.number('PRAGMA user_version', 'user_version')
  const tables = sql.number('SELECT count(*) AS n FROM sqlite_schema', 'n')
  if (version === 0 && tables === 0) {
    connection.exec(`BEGIN IMMEDIATE; ${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT;`)
    return
  }
  check(sql, expected)
  migrate(connection, sql, version)
}

function check(sql: Sql, { isCompared, identity }: ExpectedStore): void {
  if (!isCompared) {
    const verdict = sql.all('PRAGMA integrity_check(1)')[0]?.integrity_check
    if (verdict !== 'ok') throw new DamagedStoreError(`is damaged: ${verdict}`)
  }
  const [own] = sql.all('SELECT body FROM instance WHERE name = ?', [IDENTITY_STORED_AS])
  if (identity !== null && own?.body !== JSON.stringify(identity)) {
    throw new DamagedStoreError('does not belong to the file `tasks.mark` next to its directory')
  }
}

function migrate(connection: Connection, sql: Sql, version: number): void {
  if (version === SCHEMA_VERSION) return
  // Uses one transaction, so that a store is never left at an intermediate version.
  connection.exec('BEGIN IMMEDIATE')
  for (const { name } of sql.all("SELECT name FROM sqlite_schema WHERE type = 'trigger'"))
    connection.exec(`DROP TRIGGER "${text(name).replaceAll('"', '""')}"`)
  for (let from = version; from < SCHEMA_VERSION; from++) {
    connection.exec(MIGRATIONS[from] ?? '')
    if (from === LAST_WITHOUT_SEALS) sealRows(sql)
  }
  if (version <= LAST_WITH_OTHER_SETS) rebuildSets(sql)
  connection.exec(`${TRIGGERS} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT;`)
}
