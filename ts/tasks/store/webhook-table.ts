import { type Sql, text } from '../../sqlite/index.js'
import { WEBHOOK_BACKLOG_TASKS_MAX } from '../limits.js'
import type { TaskRow } from './records.js'
import { columnsOf, taskColumns, taskRow } from './rows.js'
import { sealOf, unsealed } from './sealed-rows.js'
import type { StoredWebhook, WebhookBody } from './stored-webhook.js'

/** The webhook of the command line. It has a cursor like other webhooks, but its URL is not stored. */
export const LAUNCH_WEBHOOK = '00000000-0000-0000-0000-000000000000'

/**
 * Webhooks and their cursors. The cursor of a webhook is the position, in the order of ends, of the last batch that it
 * received. A batch that begins early and ends late has a late position, so no cursor skips it.
 *
 * Tasks deleted before all webhooks have received them are kept in `undelivered` until then.
 */
export class WebhookTable {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  all(): readonly StoredWebhook[] {
    return this.#sql
      .all('SELECT uuid, body, checksum FROM webhooks WHERE body IS NOT NULL ORDER BY uuid')
      .map((row) => ({ uuid: text(row.uuid), ...(unsealed('webhooks', row) as WebhookBody) }))
  }

  /** Writes a webhook. A new one receives batches that finish later. Returns false if `webhooksMax` others exist. */
  put({ uuid, ...body }: StoredWebhook, webhooksMax: number): boolean {
    const others = this.#sql.number(
      'SELECT count(*) AS n FROM webhooks WHERE body IS NOT NULL AND uuid <> ?',
      'n',
      [uuid],
    )
    if (others >= webhooksMax) return false
    this.#begin(uuid, JSON.stringify(body))
    return true
  }

  delete(uuid: string): boolean {
    const known = this.#sql.all('SELECT 1 FROM webhooks WHERE uuid = ?', [uuid]).length > 0
    this.#sql.run('DELETE FROM webhooks WHERE uuid = ?', [uuid])
    this.#prune()
    return known
  }

  /** Adds a cursor for the webhook of the command line if one is given; otherwise removes it. */
  launch(isGiven: boolean): void {
    if (isGiven) this.#begin(LAUNCH_WEBHOOK, null)
    else this.delete(LAUNCH_WEBHOOK)
  }

  /** Returns the uid of the oldest finished batch that this webhook has not received; null if none. */
  next(uuid: string): number | null {
    const [row] = this.#sql.all(
      `SELECT uid FROM (
         SELECT * FROM (SELECT uid, ended FROM batches
           WHERE ended > (SELECT delivered FROM webhooks WHERE uuid = ?) ORDER BY ended LIMIT 1)
         UNION ALL SELECT * FROM (SELECT batch_uid, ended FROM undelivered
           WHERE ended > (SELECT delivered FROM webhooks WHERE uuid = ?) ORDER BY ended LIMIT 1))
       ORDER BY ended LIMIT 1`,
      [uuid, uuid],
    )
    return typeof row?.uid === 'number' ? row.uid : null
  }

  /** Returns the highest position in the order of ends of any cursor or deleted task; -1 if none. */
  lastEnding(): number {
    return this.#sql.number(
      `SELECT max(ifnull((SELECT max(delivered) FROM webhooks), -1),
         ifnull((SELECT max(ended) FROM undelivered), -1)) AS n`,
      'n',
    )
  }

  /** Returns the tasks of a batch, ascending by uid, including deleted ones. */
  rows(batchUid: number, afterUid: number, limit: number): readonly TaskRow[] {
    return this.#sql
      .all(
        `SELECT * FROM (SELECT ${taskColumns} FROM tasks WHERE batch_uid = ? AND uid > ? ORDER BY uid LIMIT ?)
         UNION ALL
         SELECT * FROM (SELECT ${taskColumns} FROM undelivered WHERE batch_uid = ? AND uid > ? ORDER BY uid LIMIT ?)
         ORDER BY uid LIMIT ?`,
        [batchUid, afterUid, limit, batchUid, afterUid, limit, limit],
      )
      .map(taskRow)
  }

  delivered(uuid: string, batchUid: number): void {
    this.#sql.run(
      `UPDATE webhooks SET delivered = max(delivered, ifnull((SELECT max(ended) FROM
         (SELECT ended FROM batches WHERE uid = ? UNION ALL SELECT ended FROM undelivered WHERE batch_uid = ?)), -1))
       WHERE uuid = ?`,
      [batchUid, batchUid, uuid],
    )
    this.#prune()
  }

  /**
   * Keeps tasks that are about to be deleted before a webhook has received them.
   * @returns number of older tasks dropped because there are more than `WEBHOOK_BACKLOG_TASKS_MAX`
   */
  keep(uids: string): number {
    this.#sql.run(
      `INSERT INTO undelivered (${taskColumns}, ended)
       SELECT ${columnsOf('t', taskColumns)}, b.ended FROM tasks t JOIN batches b ON b.uid = t.batch_uid
       WHERE t.uid IN (SELECT value FROM json_each(?)) AND b.ended > (SELECT min(delivered) FROM webhooks)`,
      [uids],
    )
    const surplus = this.#sql.number('SELECT count(*) AS n FROM undelivered', 'n') - WEBHOOK_BACKLOG_TASKS_MAX
    if (surplus <= 0) return 0
    this.#sql.run(
      'DELETE FROM undelivered WHERE uid IN (SELECT uid FROM undelivered ORDER BY ended, uid LIMIT ?)',
      [surplus],
    )
    return surplus
  }

  #begin(uuid: string, body: string | null): void {
    this.#sql.run(
      `INSERT INTO webhooks (uuid, body, checksum, delivered)
       VALUES (?, ?, ?, (SELECT ifnull(max(ended), -1) FROM batches WHERE ended IS NOT NULL))
       ON CONFLICT (uuid) DO UPDATE SET body = excluded.body, checksum = excluded.checksum`,
      [uuid, body, body === null ? null : sealOf(uuid, body)],
    )
  }

  #prune(): void {
    this.#sql.run(
      'DELETE FROM undelivered WHERE ended <= ifnull((SELECT min(delivered) FROM webhooks), 9e15)',
    )
  }
}
