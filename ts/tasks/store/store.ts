import { randomUUID } from 'node:crypto'
import type { QueuedTask } from '../batching.js'
import { type BatchLimits, type IndexFacts, nextBatch } from '../batching.js'
import { Listing } from '../listing/listing.js'
import { Membership, rebuildSets } from '../listing/membership.js'
import { UidSets } from '../listing/uid-sets.js'
import { batchStats, mergedDetailsText } from '../listing/view.js'
import type { StoredKey } from '../tasks.js'
import { type Micros, now } from '../time.js'
import type { Connection, Row } from './driver.js'
import { DumpTable, insertContent } from './dump-table.js'
import { DamagedStoreError } from './errors.js'
import { SEQUENCES } from './mark.js'
import { storedContent } from './new-row.js'
import type {
  BatchRow,
  Conclusion,
  Ending,
  NewBatch,
  PendingTask,
  Relabel,
  StoreCalls,
  TaskRow,
} from './records.js'
import {
  catalogueRow,
  number,
  orNull,
  queuedColumns,
  queuedTask,
  taskColumns,
  taskRow,
  text,
} from './rows.js'
import { LAST_WITHOUT_SEALS, LAST_WITHOUT_SETS, MIGRATIONS, SCHEMA, SCHEMA_VERSION } from './schema.js'
import { sealOf, sealRows, unsealed } from './sealed-rows.js'
import { Sql } from './sql.js'
import { WebhookTable } from './webhook-table.js'

/** What a store is opened with. */
export interface StoreSetup {
  /** Whether its pages are known to be what was written. If not, SQLite looks whether they fit together. */
  readonly isCompared: boolean
  /** Identity the store must have; null if it is not known. */
  readonly identity: string | null
  /** Told the number of each durable transaction once it is on disk. */
  readonly reached: (sequence: number) => void
  /** Brings the log into the file; see `Checkpoints`. */
  readonly settle: () => boolean
  /** What tasks arrive by. */
  readonly clock?: () => Micros
}

/** Name of the store's identity among the values of the instance. */
export const IDENTITY_STORED_AS = 'taskStoreIdentity'

/** Lowest uids of new tasks and batches in a store that was rebuilt: lower ones may stand in commits of the indexes. */
export interface UidFloor {
  readonly task: number
  readonly batch: number
}

/** Its name among the values of the instance. */
export const UID_FLOOR_STORED_AS = 'uidFloor'

/** How one call of a transaction ended. */
export type Settled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown }

/** Changes nothing, and is written all the same. */
const SAME_VERSION = `PRAGMA user_version = ${SCHEMA_VERSION}`

/** Types that the queue takes before the lowest uid; see `nextBatch`. */
const urgentTypes =
  "('taskCancelation','upgradeDatabase','networkTopologyChange','taskDeletion','indexCompaction','export','snapshotCreation','dumpCreation')"

/**
 * The tables, as plain synchronous calls. Callers wrap the writing ones into transactions, so that one
 * sync can carry many of them.
 */
export class Store implements StoreCalls {
  readonly #connection: Connection
  readonly #sql: Sql
  readonly #sets: UidSets
  readonly #members: Membership
  readonly #listing: Listing
  readonly #webhooks: WebhookTable
  readonly #dumps: DumpTable
  readonly #pageBytes: number
  readonly #now: () => Micros
  readonly #reached: (sequence: number) => void
  readonly #settle: () => boolean
  readonly #floor: UidFloor
  #sequence: number
  /** UUIDv4 that tells this store from every other one. */
  readonly identity: string

  /**
   * @param connection to a store of a version that `SCHEMA_VERSION` or `MIGRATIONS` names, or without tables
   * @throws DamagedStoreError
   */
  constructor(connection: Connection, setup: StoreSetup) {
    this.#now = setup.clock ?? now
    this.#reached = setup.reached
    this.#settle = setup.settle
    this.#connection = connection
    this.#sql = new Sql(connection)
    this.#sets = new UidSets(this.#sql)
    this.#members = new Membership(this.#sql, this.#sets)
    this.#listing = new Listing(this.#sql, this.#sets)
    this.#webhooks = new WebhookTable(this.#sql)
    this.#dumps = new DumpTable(this.#sql)
    this.#pageBytes = this.#sql.number('PRAGMA page_size', 'page_size')
    const version = this.#sql.number('PRAGMA user_version', 'user_version')
    const tables = this.#sql.number('SELECT count(*) AS n FROM sqlite_schema', 'n')
    if (version === 0 && tables === 0) {
      connection.exec(`BEGIN IMMEDIATE; ${SCHEMA} PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT;`)
    } else this.#upgrade(version, setup)
    this.identity = this.#identified()
    this.#floor = (this.value(UID_FLOOR_STORED_AS) as UidFloor | null) ?? { task: 0, batch: 0 }
    this.#sequence = this.#sql.number('PRAGMA application_id', 'application_id')
  }

  /** Checks a store that was there before, and brings it to the version of this program. */
  #upgrade(version: number, { isCompared, identity }: StoreSetup): void {
    if (!isCompared) {
      const verdict = this.#sql.all('PRAGMA integrity_check(1)', [])[0]?.integrity_check
      if (verdict !== 'ok') throw new DamagedStoreError(`is damaged: ${verdict}`)
    }
    const [own] = this.#sql.all('SELECT body FROM instance WHERE name = ?', [IDENTITY_STORED_AS])
    if (identity !== null && own?.body !== JSON.stringify(identity)) {
      throw new DamagedStoreError('is another one than the file `mark` beside it belongs to')
    }
    migrate(this.#connection, this.#sql, version)
  }

  #identified(): string {
    const known = this.value(IDENTITY_STORED_AS)
    if (typeof known === 'string') return known
    const identity = randomUUID()
    this.putValue(IDENTITY_STORED_AS, identity)
    return identity
  }

  /** Number of the last durable transaction. */
  get sequence(): number {
    return this.#sequence
  }

  close(): void {
    this.#connection.close()
  }

  /**
   * Runs `calls` as one transaction and one sync. A call that fails is undone alone; if the transaction
   * itself fails, as on a full disk, every call of it has failed.
   * @param durable whether to return only when the changes would survive a power cut
   */
  transaction<T>(calls: readonly (() => T)[], durable: boolean): readonly Settled<T>[] {
    const connection = this.#connection
    const isAlone = calls.length === 1
    // In write-ahead mode this only leaves out the sync of the log at the end; checkpoints still sync.
    if (!durable) connection.exec('PRAGMA synchronous = NORMAL')
    try {
      connection.exec('BEGIN IMMEDIATE')
      const settled = calls.map((call): Settled<T> => {
        const mark = this.#sets.mark
        if (!isAlone) connection.exec('SAVEPOINT call')
        try {
          const value = call()
          if (!isAlone) connection.exec('RELEASE call')
          return { ok: true, value }
        } catch (error) {
          if (isAlone) throw error
          this.#sets.undo(mark)
          this.#undoCall(error)
          return { ok: false, error }
        }
      })
      this.#sets.flush()
      const sequence = (this.#sequence + 1) % SEQUENCES
      if (durable) connection.exec(`PRAGMA application_id = ${sequence}`)
      connection.exec('COMMIT')
      if (durable) {
        this.#sequence = sequence
        this.#reached(sequence)
      }
      return settled
    } catch (error) {
      this.#sets.undo(0)
      try {
        connection.exec('ROLLBACK')
      } catch {
        // SQLite has rolled back by itself, as it does when the disk is full; each call gets the first error.
      }
      return calls.map(() => ({ ok: false, error }))
    } finally {
      if (!durable) connection.exec('PRAGMA synchronous = FULL')
    }
  }

  /**
   * Writes a transaction without content over what one whose sync failed may have left in the log: a reader of the log
   * would take it for done. Returns false if this one fails too.
   */
  supersede(): boolean {
    const written = this.transaction([() => this.#connection.exec(SAME_VERSION)], true)
    return written.every(({ ok }) => ok)
  }

  /** @param error why; it is the reason for everything if SQLite has undone the whole transaction */
  #undoCall(error: unknown): void {
    try {
      this.#connection.exec('ROLLBACK TO call; RELEASE call')
    } catch {
      throw error
    }
  }

  start(): ReturnType<StoreCalls['start']> {
    const interrupted = this.#sql
      .all(
        'SELECT uid, started_at FROM batches WHERE uid = (SELECT max(uid) FROM batches) AND finished_at IS NULL',
        [],
      )
      .map((row) => ({
        uid: number(row.uid),
        startedAt: number(row.started_at),
      }))
    for (const batch of interrupted) this.revert(batch.uid, [])
    this.#sql.run('DELETE FROM failed_commits WHERE index_id NOT IN (SELECT id FROM catalogue)', [])
    const failedCommits = new Map<string, number[]>()
    for (const row of this.#sql.all('SELECT index_id, batch_uid FROM failed_commits', [])) {
      const index = text(row.index_id)
      failedCommits.set(index, [...(failedCommits.get(index) ?? []), number(row.batch_uid)])
    }
    const highest = this.#sql.number(
      'SELECT max(ifnull((SELECT max(uid) FROM batches), -1), ifnull((SELECT max(batch_uid) FROM tasks), -1)) AS n',
      'n',
    )
    return {
      interrupted,
      failedCommits: [...failedCommits].map(([index, batchUids]) => ({ index, batchUids })),
      nextBatchUid: Math.max(highest + 1, this.#floor.batch),
      catalogue: this.#sql
        .all(
          'SELECT uid, id, primary_key, created_at, updated_at, last_batch FROM catalogue ORDER BY uid',
          [],
        )
        .map(catalogueRow),
      disposable: this.#sql.all('SELECT id FROM disposable', []).map((row) => text(row.id)),
    }
  }

  announce(id: string): void {
    this.#sql.run('INSERT OR IGNORE INTO disposable VALUES (?)', [id])
  }

  removed(ids: readonly string[]): void {
    this.#sql.run('DELETE FROM disposable WHERE id IN (SELECT value FROM json_each(?))', [
      JSON.stringify(ids),
    ])
  }

  payloads(): readonly string[] {
    return this.#sql
      .all('SELECT payload FROM contents WHERE payload IS NOT NULL', [])
      .map((row) => text(row.payload))
  }

  append(row: Parameters<StoreCalls['append']>[0]): ReturnType<StoreCalls['append']> {
    const last = this.#sql.all('SELECT uid, enqueued_at FROM tasks ORDER BY uid DESC LIMIT 1', [])[0]
    const uid = Math.max(last === undefined ? 0 : number(last.uid) + 1, this.#floor.task)
    // A clock set back must not let dates fall while uids rise.
    const enqueuedAt = Math.max(this.#now(), last === undefined ? 0 : number(last.enqueued_at))
    this.#sql.run(
      "INSERT INTO tasks (uid, index_uid, status, type, enqueued_at, details, custom_metadata) VALUES (?, ?, 'enqueued', ?, ?, ?, ?)",
      [uid, row.indexUid, row.type, enqueuedAt, row.details, row.customMetadata],
    )
    insertContent(this.#sql, uid, row)
    this.#members.arrived(uid, row.type, row.indexUid)
    return { uid, enqueuedAt }
  }

  pick(limits: BatchLimits): ReturnType<StoreCalls['pick']> {
    const waiting = this.#waiting(limits.tasksMax)
    const indexes = [...new Set(waiting.map(({ indexUid }) => indexUid))]
    const facts: IndexFacts = new Map(
      this.#sql
        .all('SELECT uid, primary_key FROM catalogue WHERE uid IN (SELECT value FROM json_each(?))', [
          JSON.stringify(indexes),
        ])
        .map((row) => [text(row.uid), { primaryKey: orNull(text, row.primary_key) }]),
    )
    const batch = nextBatch(waiting, facts, limits)
    return batch === null ? null : { batch, tasks: this.pending(batch.tasks.map(({ uid }) => uid)) }
  }

  /** Enough of the queue to choose the next batch: see `nextBatch`. */
  #waiting(tasksMax: number): readonly QueuedTask[] {
    const found = new Map<number, QueuedTask>()
    const add = (rows: readonly Row[]) => {
      for (const row of rows) found.set(number(row.uid), queuedTask(row))
    }
    add(
      this.#sql.all(
        `SELECT ${queuedColumns} FROM tasks t INDEXED BY tasks_waiting_type JOIN contents c ON c.uid = t.uid
         WHERE t.status = 'enqueued' AND t.type IN ${urgentTypes}`,
        [],
      ),
    )
    const first = this.#sql.all(
      `SELECT uid, index_uid FROM tasks INDEXED BY tasks_waiting_order
       WHERE status = 'enqueued' AND +type NOT IN ${urgentTypes} ORDER BY uid LIMIT 1`,
      [],
    )[0]
    if (first !== undefined) {
      add(
        this.#sql.all(
          `SELECT ${queuedColumns} FROM tasks t JOIN contents c ON c.uid = t.uid WHERE t.uid = ?`,
          [number(first.uid)],
        ),
      )
      const indexUid = first.index_uid ?? null
      if (indexUid !== null) {
        add(
          this.#sql.all(
            `SELECT ${queuedColumns} FROM tasks t INDEXED BY tasks_waiting JOIN contents c ON c.uid = t.uid
             WHERE t.status = 'enqueued' AND t.index_uid = ? ORDER BY t.uid LIMIT ?`,
            [indexUid, tasksMax + 1],
          ),
        )
        add(
          this.#sql.all(
            `SELECT ${queuedColumns} FROM contents c JOIN tasks t ON t.uid = c.uid
             WHERE c.touches IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(c.touches) WHERE value = ?)
             ORDER BY c.uid LIMIT 1`,
            [indexUid],
          ),
        )
      }
    }
    return [...found.values()].sort((a, b) => a.uid - b.uid)
  }

  waitingOf(indexUid: string): ReturnType<StoreCalls['waitingOf']> {
    return this.#sql
      .all(
        `SELECT t.uid, c.kind FROM tasks t INDEXED BY tasks_waiting JOIN contents c ON c.uid = t.uid
       WHERE t.status = 'enqueued' AND t.index_uid = ? ORDER BY t.uid`,
        [indexUid],
      )
      .map((row) => ({ uid: number(row.uid), kind: text(row.kind) as QueuedTask['kind'] }))
  }

  begin(given: NewBatch, uids: readonly number[]): void {
    const members = JSON.stringify(uids)
    const batch = { ...given, startedAt: this.#notBefore(given.uid, members, given.startedAt) }
    this.#sql.run(
      "UPDATE tasks SET status = 'processing', batch_uid = ?, started_at = ? WHERE uid IN (SELECT value FROM json_each(?)) AND status = 'enqueued'",
      [batch.uid, batch.startedAt, members],
    )
    this.#members.moved(this.#running(batch.uid), 'processing')
    const shown = this.#rows(members)
    const details = mergedDetailsText(shown)
    const stats = JSON.stringify(batchStats(shown))
    this.#writeBatch({ ...batch, finishedAt: null, details, stats }, null)
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
    this.#noteFailed(batchUid, failedCommits)
    this.#members.changing([batchUid], () => {
      this.#release(batchUid)
      this.#sql.run('DELETE FROM batches WHERE uid = ? AND finished_at IS NULL', [batchUid])
    })
  }

  undone(index: string): void {
    this.#sql.run('DELETE FROM failed_commits WHERE index_id = ?', [index])
  }

  #noteFailed(batchUid: number, indexes: readonly string[]): void {
    for (const index of indexes) {
      this.#sql.run('INSERT OR IGNORE INTO failed_commits (index_id, batch_uid) VALUES (?, ?)', [
        index,
        batchUid,
      ])
    }
  }

  pending(uids: readonly number[]): readonly PendingTask[] {
    return this.#sql
      .all(
        `SELECT ${taskColumns
          .split(', ')
          .map((column) => `t.${column}`)
          .join(', ')}, c.body FROM contents c JOIN tasks t ON t.uid = c.uid
       WHERE c.uid IN (SELECT value FROM json_each(?)) ORDER BY c.uid`,
        [JSON.stringify(uids)],
      )
      .map((columns) => {
        const row = taskRow(columns)
        const content = storedContent(text(columns.body))
        return { row: content.kind === 'settings' ? { ...row, details: null } : row, content }
      })
  }

  ended(uids: readonly number[]): readonly number[] {
    return this.#sql
      .all(
        `SELECT uid FROM tasks WHERE uid IN (SELECT value FROM json_each(?))
       AND +status IN ('succeeded', 'failed', 'canceled') ORDER BY uid`,
        [JSON.stringify(uids)],
      )
      .map((row) => number(row.uid))
  }

  conclude(conclusion: Conclusion): number {
    const { uid } = conclusion.batch
    const uids = conclusion.endings.map((ending) => ending.uid)
    const startedAt = this.#notBefore(uid, JSON.stringify(uids), conclusion.batch.startedAt)
    const finishedAt = Math.max(startedAt, conclusion.batch.finishedAt ?? startedAt)
    const dates = { startedAt, finishedAt }
    for (const relabel of conclusion.relabels) this.#relabel(relabel)
    const givenUp = this.#forget(conclusion.deletedTasks)
    this.#members.changing([uid], () => {
      for (const ending of conclusion.endings) this.#end(ending, { ...dates, uid })
      // What the batch could not take in after all waits again.
      this.#release(uid)
      const details = conclusion.batch.details ?? mergedDetailsText(this.#rows(JSON.stringify(uids)))
      this.#writeBatch({ ...conclusion.batch, ...dates, details }, this.#members.ended(uid, uids))
    })
    for (const status of ['succeeded', 'failed', 'canceled'] as const) {
      const ended = conclusion.endings.filter((ending) => ending.status === status)
      this.#members.moved(
        ended.map((ending) => ending.uid),
        status,
      )
    }
    this.#writeCatalogue(conclusion)
    this.#noteFailed(uid, conclusion.failedCommits)
    return givenUp
  }

  #end(ending: Ending, batch: Pick<BatchRow, 'uid' | 'startedAt' | 'finishedAt'>): void {
    const { uid, status, details, error, canceledBy, newIndexUid } = ending
    this.#sql.run(
      `UPDATE tasks SET status = ?, details = ifnull(?, details), error = ?, canceled_by = ?, batch_uid = ?,
       started_at = ?, finished_at = ?, new_index_uid = ? WHERE uid = ?`,
      [status, details, error, canceledBy, batch.uid, batch.startedAt, batch.finishedAt, newIndexUid, uid],
    )
    this.#sql.run('DELETE FROM contents WHERE uid = ?', [uid])
    if (newIndexUid !== null) this.#members.renamed(uid, newIndexUid)
  }

  #writeCatalogue(conclusion: Conclusion): void {
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

  task: StoreCalls['task'] = (...given) => this.#listing.task(...given)
  tasks: StoreCalls['tasks'] = (...given) => this.#listing.tasks(...given)
  match: StoreCalls['match'] = (filter) => this.#listing.match(filter).uids()
  batch: StoreCalls['batch'] = (...given) => this.#listing.batch(...given)
  batches: StoreCalls['batches'] = (...given) => this.#listing.batches(...given)

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

  putValue(name: string, value: unknown): void {
    const body = JSON.stringify(value ?? null)
    this.#sql.run('INSERT OR REPLACE INTO instance (name, body, checksum) VALUES (?, ?, ?)', [
      name,
      body,
      sealOf(name, body),
    ])
  }

  surplus(storedMin: number, limit: number): ReturnType<StoreCalls['surplus']> {
    if (this.#sets.count('status') < storedMin) return null
    const finished = this.#sql.all(
      `SELECT uid, enqueued_at FROM tasks WHERE +status IN ('succeeded', 'failed', 'canceled')
       ORDER BY uid LIMIT ?`,
      [limit],
    )
    const last = finished.at(-1)
    // Fewer than two would only be replaced by the task that deletes them.
    if (last === undefined || finished.length < 2) return null
    return { uids: finished.map(({ uid }) => number(uid)), before: number(last.enqueued_at) + 1 }
  }

  compact(): ReturnType<StoreCalls['compact']> {
    const connection = this.#connection
    const bytesBefore = this.bytes()
    // The copy is as large as the tables: it does not belong in memory.
    connection.exec('PRAGMA temp_store = FILE')
    try {
      connection.exec('VACUUM')
      this.#settle()
    } finally {
      connection.exec('PRAGMA temp_store = MEMORY')
    }
    return { bytesBefore, bytesAfter: this.bytes() }
  }

  /** Bytes of the file. */
  bytes(): number {
    return this.#sql.number('PRAGMA page_count', 'page_count') * this.#pageBytes
  }

  /** Bytes of the file that hold something. */
  bytesUsed(): number {
    return this.bytes() - this.#sql.number('PRAGMA freelist_count', 'freelist_count') * this.#pageBytes
  }

  webhooks: StoreCalls['webhooks'] = () => this.#webhooks.all()
  putWebhook: StoreCalls['putWebhook'] = (webhook, max) => this.#webhooks.put(webhook, max)
  deleteWebhook: StoreCalls['deleteWebhook'] = (uuid) => this.#webhooks.delete(uuid)
  launchWebhook: StoreCalls['launchWebhook'] = (isGiven) => this.#webhooks.launch(isGiven)
  nextDelivery: StoreCalls['nextDelivery'] = (uuid) => this.#webhooks.next(uuid)
  deliveryRows: StoreCalls['deliveryRows'] = (...given) => this.#webhooks.rows(...given)
  delivered: StoreCalls['delivered'] = (uuid, batch) => this.#webhooks.delivered(uuid, batch)
  dumpedTasks: StoreCalls['dumpedTasks'] = (...given) => this.#dumps.tasks(...given)
  dumpedBatches: StoreCalls['dumpedBatches'] = (...given) => this.#dumps.batches(...given)
  restoreTasks: StoreCalls['restoreTasks'] = (tasks) => {
    for (const { dumped, waiting } of tasks) this.#dumps.restoreTask(dumped, waiting)
  }
  restoreBatches: StoreCalls['restoreBatches'] = (batches) => {
    for (const batch of batches) this.#dumps.restoreBatch(batch)
  }
  restoreIndex: StoreCalls['restoreIndex'] = (row) => this.#dumps.restoreIndex(row)
  endRestore: StoreCalls['endRestore'] = () => {
    this.#dumps.alignBatches()
    rebuildSets(this.#sql)
  }

  /** A clock that was set back must not let tasks start before they have arrived, or batches overlap. */
  #notBefore(batchUid: number, members: string, at: number): number {
    const [row] = this.#sql.all(
      `SELECT (SELECT max(enqueued_at) FROM tasks WHERE uid IN (SELECT value FROM json_each(?))) AS arrived,
        (SELECT finished_at FROM batches WHERE uid < ? ORDER BY uid DESC LIMIT 1) AS free`,
      [members, batchUid],
    )
    return Math.max(at, orNull(number, row?.arrived) ?? at, orNull(number, row?.free) ?? at)
  }

  #running(batchUid: number): readonly number[] {
    return this.#sql
      .all("SELECT uid FROM tasks WHERE batch_uid = ? AND +status = 'processing'", [batchUid])
      .map((row) => number(row.uid))
  }

  /** Lets what is still running of a batch wait again. */
  #release(batchUid: number): void {
    const uids = this.#running(batchUid)
    if (uids.length === 0) return
    this.#sql.run(
      "UPDATE tasks SET status = 'enqueued', batch_uid = NULL, started_at = NULL WHERE uid IN (SELECT value FROM json_each(?))",
      [JSON.stringify(uids)],
    )
    this.#members.moved(uids, 'enqueued')
  }

  #writeBatch(batch: BatchRow, era: number | null): void {
    const arrival = (order: string) =>
      this.#sql.all(
        `SELECT uid, enqueued_at FROM tasks WHERE uid = (SELECT ${order}(uid) FROM tasks WHERE batch_uid = ?)`,
        [batch.uid],
      )[0]
    const [oldest, newest] = [arrival('min'), arrival('max')]
    this.#sql.run(
      `INSERT OR REPLACE INTO batches (uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy,
       details, stats, oldest_uid, newest_uid, era) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
        era,
      ],
    )
  }

  #forget(uids: readonly number[]): number {
    if (uids.length === 0) return 0
    const members = JSON.stringify(uids)
    const givenUp = this.#webhooks.keep(members)
    this.#members.removing(members, (batchUids) => {
      this.#sql.run('DELETE FROM tasks WHERE uid IN (SELECT value FROM json_each(?))', [members])
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
    // Pairs of older swaps always trade names: a pair cannot name one index twice.
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
      const details = JSON.parse(text(row.details)) as { swaps: { indexes: string[]; rename: boolean }[] }
      const renamedSwaps = details.swaps.map((pair) => ({ ...pair, indexes: pair.indexes.map(renamed) }))
      this.#sql.run('UPDATE tasks SET details = ? WHERE uid = ?', [
        JSON.stringify({ ...details, swaps: renamedSwaps }),
        number(row.uid),
      ])
    }
  }
}

function migrate(connection: Connection, sql: Sql, version: number): void {
  for (let from = version; from < SCHEMA_VERSION; from++) {
    connection.exec(`BEGIN IMMEDIATE; ${MIGRATIONS[from]}`)
    if (from === LAST_WITHOUT_SETS) rebuildSets(sql)
    if (from === LAST_WITHOUT_SEALS) sealRows(sql)
    connection.exec(`PRAGMA user_version = ${from + 1}; COMMIT;`)
  }
}
