/**
 * Rows with a checksum of their own: those that a rebuilt store takes over from a damaged one, where the pages around
 * them cannot be relied on.
 */
import { crc32 } from 'node:zlib'
import type { Row } from './driver.js'
import { DamagedStoreError } from './errors.js'
import { text } from './rows.js'
import type { Sql } from './sql.js'

/** Tables whose rows are sealed, with their keys. `body` holds JSON, and is null for a webhook that is not stored. */
const keyOf = { keys: 'uid', instance: 'name', webhooks: 'uuid' } as const
export type SealedTable = keyof typeof keyOf

/** Adds the checksums to tables without them. */
export const SEAL_COLUMNS = Object.keys(keyOf)
  .map((table) => `ALTER TABLE ${table} ADD COLUMN checksum INTEGER;`)
  .join('\n')

/** The checksum of a row. @param key that its table is ordered by */
export const sealOf = (key: string, body: string): number => crc32(`${key}\0${body}`)

/**
 * What is stored in a row, parsed.
 * @param row with key, `body` and `checksum`
 * @throws DamagedStoreError
 */
export function unsealed(table: SealedTable, row: Row): unknown {
  const [key, body] = [text(row[keyOf[table]]), text(row.body)]
  if (row.checksum !== sealOf(key, body)) {
    throw new DamagedStoreError(
      `is damaged: the row \`${key}\` of its table \`${table}\` is not what was written`,
    )
  }
  return JSON.parse(body) as unknown
}

/** Seals the rows of a store that was written without checksums. */
export function sealRows(sql: Sql): void {
  for (const [table, key] of Object.entries(keyOf)) {
    for (const row of sql.all(`SELECT ${key} AS key, body FROM ${table} WHERE body IS NOT NULL`)) {
      const name = text(row.key)
      sql.run(`UPDATE ${table} SET checksum = ? WHERE ${key} = ?`, [sealOf(name, text(row.body)), name])
    }
  }
}
