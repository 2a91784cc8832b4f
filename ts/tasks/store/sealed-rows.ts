/**
 * Rows with a checksum of their own. A rebuild takes them over from a damaged store, whose pages cannot be relied on.
 */
import { crc32 } from 'node:zlib'
import type { Row } from './driver.js'
import { DamagedStoreError } from './errors.js'
import { text } from './rows.js'
import type { Sql } from './sql.js'

/** Table → its key. `body` is JSON text; that of the webhook of the command line is null and has no checksum. */
const keyOf = { keys: 'uid', instance: 'name', webhooks: 'uuid' } as const
export type SealedTable = keyof typeof keyOf

/** Adds the columns to tables without them. */
export const SEAL_COLUMNS = Object.keys(keyOf)
  .map((table) => `ALTER TABLE ${table} ADD COLUMN checksum INTEGER;`)
  .join('\n')

/** The checksum of a row. */
export const sealOf = (key: string, body: string): number => crc32(`${key}\0${body}`)

/**
 * The body of a row, parsed.
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

/** Computes the checksums of a store that was written without them. */
export function sealRows(sql: Sql): void {
  for (const [table, key] of Object.entries(keyOf)) {
    for (const row of sql.all(`SELECT ${key} AS key, body FROM ${table} WHERE body IS NOT NULL`)) {
      const name = text(row.key)
      sql.run(`UPDATE ${table} SET checksum = ? WHERE ${key} = ?`, [sealOf(name, text(row.body)), name])
    }
  }
}
