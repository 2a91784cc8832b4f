import { number, orNull, type Sql, text } from '../../sqlite/index.js'
import type { Membership } from '../listing/membership.js'
import { batchStats, mergedDetailsText } from '../listing/view.js'
import type { CatalogueTable } from './catalogue-table.js'
import type { Amendment, BatchRow, Conclusion, Ending, NewBatch, Relabel, Start, TaskRow } from './records.js'
import { taskColumns, taskRow } from './rows.js'
import type { WebhookTable } from './webhook-table.js'

/** Columns of a batch that are set when it ends. */
interface BatchEnding {
  readonly ended: number | null
  readonly era: number | null
  readonly endEra: number | null
}

const notEnded: BatchEnding = { ended: null, era: null, endEra: null }

/** Writes the effects of batches on tasks, from start to outcome. */
export class BatchTable {
  readonly #sql: Sql
  readonly #members: Membership
  readonly #catalogue: CatalogueTable
  readonly #webhooks: WebhookTable

  constructor(sql: Sql, members: Membership, catalogue: CatalogueTable, webhooks: WebhookTable) {
    this.#sql = sql
    this.#members = members
    this.#catalogue = catalogue
    this.#webhooks = webhooks
  }

  /** Returns the batches that have not ended, ascending by uid. */
  running(): Start['interrupted'] {
    return this.#sql
      .all('SELECT uid, started_at FROM batches WHERE finished_at IS NULL ORDER BY uid')
      .map((row) => ({ uid: number(row.uid), startedAt: number(row.started_at) }))
  }

  /** Re-queues the tasks of all batches that have not ended. Keeps the rows of these batches. */
  release(): void {
    const batches = this.running().map(({ uid }) => uid)
    this.#members.changing(batches, () => {
      for (const uid of batches) this.#release(uid)
    })
  }

  /** Returns the highest batch uid for which a row or a task exists; -1 if none. */
  highest(): number {
    return this.#sql.number(
      'SELECT max(ifnull((SELECT max(uid) FROM batches), -1), ifnull((SELECT max(batch_uid) FROM tasks), -1)) AS n',
      'n',
    )
  }

  begin(given: NewBatch, uids: readonly number[]): void {
    const members = JSON.stringify(uids)
    const batch = { ...given, startedAt: this.#startOf(given, members) }
    this.#sql.run(
      "UPDATE tasks SET status = 'processing', batch_uid = ?, started_at = ? WHERE uid IN (SELECT value FROM json_each(?)) AND status = 'enqueued'",
      [batch.uid, batch.startedAt, members],
    )
    this.#members.moved(this.#running(batch.uid), 'processing')
    const shown = this.#rows(members)
    const details = mergedDetailsText(shown)
    const stats = JSON.stringify(batchStats(shown))
    this.#writeBatch({ ...batch, finishedAt: null, details, stats }, notEnded)
    this.#members.begun(batch.uid)
  }

  /** @param members uids, as a JSON list */
  #rows(members: string): readonly TaskRow[] {
    return this.#sql
      .all(`SELECT ${taskColumns} FROM tasks WHERE uid IN (SELECT value FROM json_each(?)) ORDER BY uid`, [
        members,
      ])
      .map(taskRow)
  }

  revert(batchUid: number, failedCommits: readonly string[]): void {
    this.#catalogue.noteFailed(batchUid, failedCommits)
    this.#members.changing([batchUid], () => {
      this.#release(batchUid)
      this.#sql.run('DELETE FROM batches WHERE uid = ? AND finished_at IS NULL', [batchUid])
    })
  }

  /** Re-queues a failed upgrade. Its batch was the last one, so the next batch gets the same uid. */
  retryUpgrade(): void {
    const failed = this.#sql.all(
      `SELECT t.uid FROM contents c JOIN tasks t ON t.uid = c.uid
       WHERE c.kind = 'upgradeDatabase' AND t.status = 'failed'`,
      [],
    )
    for (const row of failed) {
      const uid = number(row.uid)
      this.#members.removing(JSON.stringify([uid]), (batchUids) => {
        this.#sql.run(
          `UPDATE tasks SET status = 'enqueued', batch_uid = NULL, started_at = NULL, finished_at = NULL, error = NULL
           WHERE uid = ?`,
          [uid],
        )
        this.#sql.run('DELETE FROM batches WHERE uid IN (SELECT value FROM json_each(?))', [batchUids])
      })
      this.#members.arrived(uid, 'upgradeDatabase', null)
    }
  }

  conclude(conclusion: Conclusion): number {
    const { uid } = conclusion.batch
    const uids = conclusion.endings.map((ending) => ending.uid)
    const startedAt = this.#startOf(conclusion.batch, JSON.stringify(uids))
    const last = this.#lastEnding()
    const finishedAt = Math.max(startedAt, last.finishedAt, conclusion.batch.finishedAt ?? startedAt)
    const dates = { startedAt, finishedAt }
    const ended = last.ended + 1
    for (const relabel of conclusion.relabels) this.#relabel(relabel)
    const givenUp = this.forget(conclusion.deletedTasks)
    this.#members.changing([uid], () => {
      for (const ending of conclusion.endings) this.#end(ending, { ...dates, uid })
      // Tasks of the batch without an outcome wait for the next batch.
      this.#release(uid)
      const details = conclusion.batch.details ?? mergedDetailsText(this.#rows(JSON.stringify(uids)))
      const eras = this.#members.ended(uid, ended, uids)
      this.#writeBatch({ ...conclusion.batch, ...dates, details }, { ended, ...eras })
    })
    for (const status of ['succeeded', 'failed', 'canceled'] as const) {
      const ended = conclusion.endings.filter((ending) => ending.status === status)
      this.#members.moved(
        ended.map((ending) => ending.uid),
        status,
      )
    }
    this.#catalogue.write(conclusion)
    this.#catalogue.noteFailed(uid, conclusion.failedCommits)
    return givenUp
  }

  amend({ removed, written, relabels }: Amendment): void {
    for (const relabel of relabels) this.#relabel(relabel)
    this.#catalogue.write({ removed, written, dropped: [] })
  }

  #end(ending: Ending, batch: Pick<BatchRow, 'uid' | 'startedAt' | 'finishedAt'>): void {
    const { uid, status, details, error, canceledBy, newIndexUid } = ending
    this.#sql.run(
      `UPDATE tasks SET status = ?, details = ifnull(?, details), error = ?, canceled_by = ?, batch_uid = ?,
       started_at = ?, finished_at = ?, new_index_uid = ? WHERE uid = ?`,
      [status, details, error, canceledBy, batch.uid, batch.startedAt, batch.finishedAt, newIndexUid, uid],
    )
    // A failed upgrade is repeated at the next start.
    this.#sql.run("DELETE FROM contents WHERE uid = ? AND NOT (kind = 'upgradeDatabase' AND ? = 'failed')", [
      uid,
      status,
    ])
    if (newIndexUid !== null) this.#members.renamed(uid, newIndexUid)
  }

  /**
   * Returns the start of a batch: the date in its row, or the given date if it has no row. If the clock was set back,
   * the given date is raised: a batch starts after its tasks arrived and not before a batch with a lower uid.
   */
  #startOf(batch: Pick<BatchRow, 'uid' | 'startedAt'>, members: string): number {
    const [row] = this.#sql.all(
      `SELECT (SELECT started_at FROM batches WHERE uid = ?) AS begun,
        (SELECT max(enqueued_at) FROM tasks WHERE uid IN (SELECT value FROM json_each(?))) AS arrived,
        (SELECT started_at FROM batches WHERE uid < ? ORDER BY uid DESC LIMIT 1) AS before`,
      [batch.uid, members, batch.uid],
    )
    const at = batch.startedAt
    const later = Math.max(at, orNull(number, row?.arrived) ?? at, orNull(number, row?.before) ?? at)
    return orNull(number, row?.begun) ?? later
  }

  /** Returns the end of the last batch. A webhook's cursor may be at a later batch, deleted since. */
  #lastEnding(): { readonly ended: number; readonly finishedAt: number } {
    const [row] = this.#sql.all(
      'SELECT ended, finished_at FROM batches WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT 1',
    )
    const delivered = this.#webhooks.lastEnding()
    return {
      ended: Math.max(orNull(number, row?.ended) ?? -1, delivered),
      finishedAt: orNull(number, row?.finished_at) ?? 0,
    }
  }

  #running(batchUid: number): readonly number[] {
    return this.#sql
      .all("SELECT uid FROM tasks WHERE batch_uid = ? AND +status = 'processing'", [batchUid])
      .map((row) => number(row.uid))
  }

  /** Re-queues the running tasks of a batch. */
  #release(batchUid: number): void {
    const uids = this.#running(batchUid)
    if (uids.length === 0) return
    this.#sql.run(
      "UPDATE tasks SET status = 'enqueued', batch_uid = NULL, started_at = NULL WHERE uid IN (SELECT value FROM json_each(?))",
      [JSON.stringify(uids)],
    )
    this.#members.moved(uids, 'enqueued')
  }

  #writeBatch(batch: BatchRow, ending: BatchEnding): void {
    const arrival = (order: string) =>
      this.#sql.all(
        `SELECT uid, enqueued_at FROM tasks WHERE uid = (SELECT ${order}(uid) FROM tasks WHERE batch_uid = ?)`,
        [batch.uid],
      )[0]
    const [oldest, newest] = [arrival('min'), arrival('max')]
    this.#sql.run(
      `INSERT OR REPLACE INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy,
       details, stats, oldest_uid, newest_uid, ended, era, end_era) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        batch.uid,
        batch.startedAt,
        batch.finishedAt,
        oldest?.enqueued_at ?? batch.startedAt,
        newest?.enqueued_at ?? batch.startedAt,
        batch.strategy,
        batch.details,
        batch.stats,
        oldest?.uid ?? 0,
        newest?.uid ?? 0,
        ending.ended,
        ending.era,
        ending.endEra,
      ],
    )
  }

  /** Deletes tasks, and batches left without tasks. @returns number of tasks that a webhook will never receive */
  forget(uids: readonly number[]): number {
    if (uids.length === 0) return 0
    const members = JSON.stringify(uids)
    const givenUp = this.#webhooks.keep(members)
    this.#members.removing(members, (batchUids) => {
      for (const table of ['contents', 'tasks'])
        this.#sql.run(`DELETE FROM ${table} WHERE uid IN (SELECT value FROM json_each(?))`, [members])
      this.#sql.run(
        `DELETE FROM batches WHERE uid IN (SELECT value FROM json_each(?))
         AND NOT EXISTS (SELECT 1 FROM tasks WHERE batch_uid = batches.uid)`,
        [batchUids],
      )
    })
    return givenUp
  }

  #relabel(relabel: Relabel): void {
    const { from, to, swap, before } = relabel
    // Both names are exchanged in the details of older swaps, even by a rename, as a pair must have two distinct names.
    const renamed = (name: string) => (name === from ? to : name === to ? from : name)
    const changed = (column: string) => `CASE ${column} WHEN ? THEN ? WHEN ? THEN ? ELSE ${column} END`
    const pairs = swap ? [from, to, to, from] : [from, to, from, to]
    this.#members.relabelled(relabel, (uids) =>
      this.#sql.run(
        `UPDATE tasks SET index_uid = ${changed('index_uid')}, new_index_uid = ${changed('new_index_uid')}
         WHERE uid IN (SELECT value FROM json_each(?))`,
        [...pairs, ...pairs, JSON.stringify(uids)],
      ),
    )
    const swaps = this.#sql.all(
      `SELECT uid, details FROM tasks WHERE uid < ?
       AND uid IN (SELECT uid FROM swap_names WHERE name IN (SELECT value FROM json_each(?)))`,
      [before, JSON.stringify([from, to])],
    )
    for (const row of swaps) {
      const details = JSON.parse(text(row.details)) as { readonly swaps: unknown }
      this.#sql.run('UPDATE tasks SET details = ? WHERE uid = ?', [
        JSON.stringify({ ...details, swaps: renamedSwaps(details.swaps, renamed) }),
        number(row.uid),
      ])
    }
  }
}

/** Renames the indexes of swaps. Details of imported tasks may have any shape; other shapes stay as they are. */
function renamedSwaps(swaps: unknown, renamed: (name: string) => string): unknown {
  if (!Array.isArray(swaps)) return swaps
  return (swaps as readonly ({ readonly indexes?: unknown } | null)[]).map((pair) =>
    Array.isArray(pair?.indexes) ? { ...pair, indexes: pair.indexes.map(renamed) } : pair,
  )
}
