import { number, type Sql, text } from '../../sqlite/index.js'
import type { CatalogueRow, Conclusion, Start } from './records.js'
import { catalogueRow } from './rows.js'

/** Table of indexes, of directories that may be removed, and of failed commits. */
export class CatalogueTable {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  rows(): readonly CatalogueRow[] {
    return this.#sql
      .all('SELECT uid, id, primary_key, created_at, updated_at, last_batch FROM catalogue ORDER BY uid')
      .map(catalogueRow)
  }

  /** Writes the index changes of a batch. */
  write(conclusion: Pick<Conclusion, 'removed' | 'written' | 'dropped'>): void {
    for (const uid of conclusion.removed) this.#sql.run('DELETE FROM catalogue WHERE uid = ?', [uid])
    for (const entry of conclusion.written) {
      this.#sql.run(
        `INSERT INTO catalogue (uid, id, primary_key, created_at, updated_at, last_batch) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (uid) DO UPDATE SET id = excluded.id, primary_key = excluded.primary_key,
         created_at = excluded.created_at, updated_at = excluded.updated_at, last_batch = excluded.last_batch`,
        [entry.uid, entry.id, entry.primaryKey, entry.createdAt, entry.updatedAt, entry.lastBatch],
      )
    }
    for (const id of conclusion.dropped) this.announce(id)
    this.removed(conclusion.written.map(({ id }) => id))
  }

  disposable(): readonly string[] {
    return this.#sql.all('SELECT id FROM disposable').map((row) => text(row.id))
  }

  announce(id: string): void {
    this.#sql.run('INSERT OR IGNORE INTO disposable VALUES (?)', [id])
  }

  removed(ids: readonly string[]): void {
    this.#sql.run('DELETE FROM disposable WHERE id IN (SELECT value FROM json_each(?))', [
      JSON.stringify(ids),
    ])
  }

  /** Returns the failed commits of existing indexes. */
  failedCommits(): Start['failedCommits'] {
    this.#sql.run('DELETE FROM failed_commits WHERE index_id NOT IN (SELECT id FROM catalogue)')
    const failed = new Map<string, number[]>()
    for (const row of this.#sql.all('SELECT index_id, batch_uid FROM failed_commits')) {
      const index = text(row.index_id)
      failed.set(index, [...(failed.get(index) ?? []), number(row.batch_uid)])
    }
    return [...failed].map(([index, batchUids]) => ({ index, batchUids }))
  }

  undone(index: string): void {
    this.#sql.run('DELETE FROM failed_commits WHERE index_id = ?', [index])
  }

  noteFailed(batchUid: number, indexes: readonly string[]): void {
    for (const index of indexes) {
      this.#sql.run('INSERT OR IGNORE INTO failed_commits (index_id, batch_uid) VALUES (?, ?)', [
        index,
        batchUid,
      ])
    }
  }
}
