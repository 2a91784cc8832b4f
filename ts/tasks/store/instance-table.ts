import { type Sql, text } from '../../sqlite/index.js'
import type { StoredKey } from '../tasks.js'
import { sealOf, unsealed } from './sealed-rows.js'

/** Table of API keys, and table of named JSON values. */
export class InstanceTable {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  keys(): readonly StoredKey[] {
    return this.#sql
      .all('SELECT uid, body, checksum FROM keys ORDER BY uid')
      .map((row) => unsealed('keys', row) as StoredKey)
  }

  putKey(key: StoredKey): void {
    const body = JSON.stringify(key)
    this.#sql.run('INSERT OR REPLACE INTO keys (uid, body, checksum) VALUES (?, ?, ?)', [
      key.uid,
      body,
      sealOf(key.uid, body),
    ])
  }

  deleteKey(uid: string): void {
    this.#sql.run('DELETE FROM keys WHERE uid = ?', [uid])
  }

  value(name: string): unknown {
    const row = this.#sql.all('SELECT name, body, checksum FROM instance WHERE name = ?', [name])[0]
    return row === undefined ? null : unsealed('instance', row)
  }

  /** Returns the names that begin with `prefix`, ascending. @param prefix ASCII */
  valueNames(prefix: string): readonly string[] {
    // No name of ASCII characters that begins with the prefix is larger.
    return this.#sql
      .all('SELECT name FROM instance WHERE name >= ? AND name < ? ORDER BY name', [
        prefix,
        `${prefix}\u007f`,
      ])
      .map(({ name }) => text(name))
  }

  deleteValue(name: string): void {
    this.#sql.run('DELETE FROM instance WHERE name = ?', [name])
  }

  putValue(name: string, value: unknown): void {
    const body = JSON.stringify(value ?? null)
    this.#sql.run('INSERT OR REPLACE INTO instance (name, body, checksum) VALUES (?, ?, ?)', [
      name,
      body,
      sealOf(name, body),
    ])
  }
}
