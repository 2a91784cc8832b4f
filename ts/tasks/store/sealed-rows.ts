/** Rows with their own checksum. A rebuild can recover them from a store with damaged pages. */
import { crc32 } from 'node:zlib'
import { type Row, type Sql, text } from '../../sqlite/index.js'
import { DamagedStoreError } from './errors.js'

/** Table → its key column. `body` is JSON text. The webhook of the command line has no body and no checksum. */
const keyOf = { keys: 'uid', instance: 'name', webhooks: 'uuid' } as const
export type SealedTable = keyof typeof keyOf

/** Adds the checksum columns. */
export const SEAL_COLUMNS = Object.keys(keyOf)
  .map((table) => `ALTER TABLE ${table} ADD COLUMN checksum INTEGER;`)
  .join('\n')

/** Computes the checksum of a row. */
export const sealOf = (key: string, body: string): number => crc32(`${key}\0${body}`)

/**
 * Parses the body of a row.
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
