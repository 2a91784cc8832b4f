import { randomUUID } from 'node:crypto'
import { type Connection, number, type Settled, Sql, Transactions } from '../../sqlite/index.js'
import { Listing } from '../listing/listing.js'
import { Membership, rebuildSets } from '../listing/membership.js'
import { UidSets } from '../listing/uid-sets.js'
import { applyChanges } from '../replicated/apply-changes.js'
import { Outbox } from '../replicated/outbox.js'
import { BUCKET_POSITION_STORED_AS, IDENTITY_STORED_AS, OUTBOX_STORED_AS } from '../replicated/tables.js'
import { type Micros, now } from '../time.js'
import { everyUid, type UidClass } from '../uid-class.js'
import { BatchTable } from './batch-table.js'
import { CatalogueTable } from './catalogue-table.js'
import { DumpTable } from './dump-table.js'
import { InstanceTable } from './instance-table.js'
import { waitingByIndex } from './queue-load.js'
import { QueueTable } from './queue-table.js'
import type { CopyPurpose, StoreCalls } from './records.js'
import { SCHEMA_VERSION } from './schema.js'
import { type ExpectedStore, prepareTables } from './tables.js'
import { WebhookTable } from './webhook-table.js'

/** Options for opening a store. */
interface StoreSetup extends ExpectedStore {
  /** Called with the number of each durable transaction once it is synced. */
  readonly reached: (sequence: number) => void
  /** See `Checkpoints.settle`. */
  readonly settle: () => void
  readonly copying: Copying
  /** True to keep row changes for a bucket, false to drop kept ones. Absent: as before. */
  readonly keepsChanges?: boolean | undefined
  /** Source of arrival dates. */
  readonly clock?: () => Micros
  /** Uids of new tasks. Absent: all. */
  readonly uidClass?: UidClass | undefined
}

/** Steps of a copy of the store's file. The caller of the store copies the file between `begin` and `open`. */
export interface Copying {
  /** Brings the complete log into the file, which does not change until `end`. @param path target of the copy */
  begin(path: string): void
  /** Opens the copy at `path`. */
  open(path: string): Connection
  end(): void
}

/** Lowest uids of new tasks and batches in a rebuilt store. Commits of the indexes may contain lower uids. */
export interface UidFloor {
  readonly task: number
  readonly batch: number
}

/** Key of the `UidFloor` among the stored values of the instance. */
export const UID_FLOOR_STORED_AS = 'uidFloor'

/**
 * The tables, as plain synchronous calls. Callers wrap writes into transactions, so that one sync covers many of them.
 */
export class Store implements StoreCalls {
  readonly #connection: Connection
  readonly #sql: Sql
  readonly #sets: UidSets
  readonly #transactions: Transactions
  readonly #listing: Listing
  readonly #queue: QueueTable
  readonly #batches: BatchTable
  readonly #catalogue: CatalogueTable
  readonly #instance: InstanceTable
  readonly #webhooks: WebhookTable
  readonly #dumps: DumpTable
  readonly #pageBytes: number
  readonly #settle: () => void
  readonly #copying: Copying
  readonly #firstBatchUid: number
  readonly #members: Membership
  readonly #outbox: Outbox | null
  /** Random UUIDv4 of this store. */
  readonly identity: string

  /**
   * @param connection to a store of a version that `SCHEMA_VERSION` or `MIGRATIONS` names, or without tables
   * @throws DamagedStoreError
   */
  constructor(connection: Connection, setup: StoreSetup) {
    this.#connection = connection
    this.#settle = setup.settle
    this.#copying = setup.copying
    prepareTables(connection, setup)
    this.#sql = new Sql(connection)
    this.#sets = new UidSets(this.#sql)
    const members = new Membership(this.#sql, this.#sets)
    this.#members = members
    this.#catalogue = new CatalogueTable(this.#sql)
    this.#instance = new InstanceTable(this.#sql)
    if (setup.keepsChanges === false) this.#forgetChanges()
    const isKeeping = setup.keepsChanges ?? Outbox.isIn(this.#sql)
    this.#outbox = isKeeping ? new Outbox(connection, this.#sql) : null
    if (isKeeping) this.#named(OUTBOX_STORED_AS)
    this.#listing = new Listing(this.#sql, this.#sets)
    this.#webhooks = new WebhookTable(this.#sql)
    this.#batches = new BatchTable(this.#sql, members, this.#catalogue, this.#webhooks)
    this.#dumps = new DumpTable(this.#sql)
    this.#pageBytes = this.#sql.number('PRAGMA page_size', 'page_size')
    this.identity = this.#named(IDENTITY_STORED_AS)
    const floor = (this.#instance.value(UID_FLOOR_STORED_AS) as UidFloor | null) ?? { task: 0, batch: 0 }
    this.#firstBatchUid = floor.batch
    this.#queue = new QueueTable(this.#sql, members, setup.clock ?? now, {
      least: floor.task,
      uidClass: setup.uidClass ?? everyUid,
    })
    const sequence = this.#sql.number('PRAGMA application_id', 'application_id')
    this.#transactions = new Transactions(connection, this.#sets, this.#outbox, {
      sequence,
      version: SCHEMA_VERSION,
      reached: setup.reached,
    })
  }

  /** Returns a UUID from the stored values, and creates it if it is missing. */
  #named(name: string): string {
    const known = this.#instance.value(name)
    if (typeof known === 'string') return known
    const identity = randomUUID()
    this.#instance.putValue(name, identity)
    return identity
  }

  /** Drops kept changes. They are useless to the bucket, because it will not receive the next ones. */
  #forgetChanges(): void {
    Outbox.drop(this.#connection)
    for (const name of [OUTBOX_STORED_AS, BUCKET_POSITION_STORED_AS]) this.#instance.deleteValue(name)
  }

  /** Number of the last durable transaction. */
  get sequence(): number {
    return this.#transactions.sequence
  }

  close(): void {
    this.#connection.close()
  }

  /** See `Transactions.run`. */
  transaction<T>(calls: readonly (() => T)[], durable: boolean): readonly Settled<T>[] {
    return this.#transactions.run(calls, durable)
  }

  /** See `Transactions.supersede`. */
  supersede(): boolean {
    return this.#transactions.supersede()
  }

  start(): ReturnType<StoreCalls['start']> {
    const interrupted = this.#batches.running()
    this.#batches.release()
    this.#batches.retryUpgrade()
    return {
      interrupted,
      failedCommits: this.#catalogue.failedCommits(),
      nextBatchUid: Math.max(this.#batches.highest() + 1, this.#firstBatchUid),
      catalogue: this.#catalogue.rows(),
      disposable: this.#catalogue.disposable(),
    }
  }

  surplus(storedMin: number, limit: number): ReturnType<StoreCalls['surplus']> {
    if (this.#sets.count('status') < storedMin) return null
    const finished = this.#sql.all(
      `SELECT uid, enqueued_at FROM tasks WHERE +status IN ('succeeded', 'failed', 'canceled')
       ORDER BY uid LIMIT ?`,
      [limit],
    )
    const last = finished.at(-1)
    // The deletion itself is a task, so deleting one task would free nothing.
    if (last === undefined || finished.length < 2) return null
    return { uids: finished.map(({ uid }) => number(uid)), before: number(last.enqueued_at) + 1 }
  }

  compact(): ReturnType<StoreCalls['compact']> {
    const connection = this.#connection
    const bytesBefore = this.bytes()
    // VACUUM copies the complete store, which may not fit into memory.
    connection.exec('PRAGMA temp_store = FILE')
    try {
      connection.exec('VACUUM')
      this.#settle()
    } finally {
      connection.exec('PRAGMA temp_store = MEMORY')
      this.#outbox?.install(connection)
    }
    return { bytesBefore, bytesAfter: this.bytes() }
  }

  beginCopy(path: string): ReturnType<StoreCalls['beginCopy']> {
    this.#copying.begin(path)
    try {
      return { last: this.#outbox?.last() ?? 0, outbox: this.#named(OUTBOX_STORED_AS) }
    } catch (error) {
      // The caller does not abandon a copy that has not begun.
      this.#copying.end()
      throw error
    }
  }

  abandonCopy(): void {
    this.#copying.end()
  }

  finishCopy(path: string, purpose: CopyPurpose, omitted: readonly number[]): void {
    this.#copying.end()
    const connection = this.#copying.open(path)
    try {
      connection.exec('PRAGMA locking_mode = EXCLUSIVE')
      const copy = new Store(connection, {
        isCompared: true,
        identity: this.identity,
        // The copy is a new store, and no bucket has its changes.
        keepsChanges: false,
        reached: () => undefined,
        settle: () => undefined,
        copying: this.#copying,
      })
      const change = () => {
        if (purpose !== 'following') copy.start()
        copy.#batches.forget(omitted)
      }
      for (const settled of copy.transaction([change], false)) if (!settled.ok) throw settled.error
      connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      if (purpose === 'reading') {
        // Without the lock the copy can be read at once, although some builds of SQLite close a connection late.
        connection.exec('PRAGMA journal_mode = DELETE')
        connection.exec('PRAGMA locking_mode = NORMAL')
        connection.prepare('SELECT count(*) FROM sqlite_schema').all([])
      }
    } finally {
      connection.close()
    }
  }

  /** Bytes of the file. */
  bytes(): number {
    return this.#sql.number('PRAGMA page_count', 'page_count') * this.#pageBytes
  }

  /** Bytes of the file without free pages. */
  bytesUsed(): number {
    return this.bytes() - this.#sql.number('PRAGMA freelist_count', 'freelist_count') * this.#pageBytes
  }

  changes: StoreCalls['changes'] = (charsMax, after) => {
    const page = this.#outbox?.page(charsMax, after) ?? null
    return page && { ...page, outbox: this.#named(OUTBOX_STORED_AS), schema: SCHEMA_VERSION }
  }
  changesSent: StoreCalls['changesSent'] = (last, position) => {
    this.#outbox?.sent(last)
    this.#instance.putValue(BUCKET_POSITION_STORED_AS, position)
  }
  outbox: StoreCalls['outbox'] = () =>
    this.#outbox && {
      outbox: this.#named(OUTBOX_STORED_AS),
      last: this.#outbox.durable,
      newest: this.#outbox.last(),
      unsent: this.#outbox.unsent(),
    }
  sync: StoreCalls['sync'] = () => undefined
  applyChanges: StoreCalls['applyChanges'] = (changes, position) => {
    applyChanges(this.#sql, this.#members, changes)
    this.#instance.putValue(BUCKET_POSITION_STORED_AS, position)
    return changes.catalogue === undefined ? null : this.#catalogue.rows()
  }
  load: StoreCalls['load'] = (indexesMax) => ({
    bytesUsed: this.bytesUsed(),
    waiting: waitingByIndex(this.#sql, indexesMax),
  })
  announce: StoreCalls['announce'] = (id) => this.#catalogue.announce(id)
  removed: StoreCalls['removed'] = (ids) => this.#catalogue.removed(ids)
  undone: StoreCalls['undone'] = (index) => this.#catalogue.undone(index)
  catalogue: StoreCalls['catalogue'] = () => this.#catalogue.rows()
  endKeeping: StoreCalls['endKeeping'] = () => {
    Outbox.drop(this.#connection)
    this.#instance.deleteValue(OUTBOX_STORED_AS)
  }
  uploads: StoreCalls['uploads'] = () => this.#queue.uploads()
  append: StoreCalls['append'] = (row) => this.#queue.append(row)
  pick: StoreCalls['pick'] = (...given) => this.#queue.pick(...given)
  waitingOf: StoreCalls['waitingOf'] = (indexUid) => this.#queue.waitingOf(indexUid)
  pending: StoreCalls['pending'] = (uids) => this.#queue.pending(uids)
  unended: StoreCalls['unended'] = (uids) => this.#queue.unended(uids)
  ended: StoreCalls['ended'] = (uids) => this.#queue.ended(uids)
  begin: StoreCalls['begin'] = (batch, uids) => this.#batches.begin(batch, uids)
  revert: StoreCalls['revert'] = (batchUid, failed) => this.#batches.revert(batchUid, failed)
  conclude: StoreCalls['conclude'] = (conclusion) => this.#batches.conclude(conclusion)
  amend: StoreCalls['amend'] = (amendment) => this.#batches.amend(amendment)
  task: StoreCalls['task'] = (...given) => this.#listing.task(...given)
  tasks: StoreCalls['tasks'] = (...given) => this.#listing.tasks(...given)
  counts: StoreCalls['counts'] = () => this.#listing.counts()
  match: StoreCalls['match'] = (filter) => this.#listing.match(filter).uids()
  batch: StoreCalls['batch'] = (...given) => this.#listing.batch(...given)
  batches: StoreCalls['batches'] = (...given) => this.#listing.batches(...given)
  keys: StoreCalls['keys'] = () => this.#instance.keys()
  putKey: StoreCalls['putKey'] = (key) => this.#instance.putKey(key)
  deleteKey: StoreCalls['deleteKey'] = (uid) => this.#instance.deleteKey(uid)
  value: StoreCalls['value'] = (name) => this.#instance.value(name)
  putValue: StoreCalls['putValue'] = (name, value) => this.#instance.putValue(name, value)
  deleteValue: StoreCalls['deleteValue'] = (name) => this.#instance.deleteValue(name)
  valueNames: StoreCalls['valueNames'] = (prefix) => this.#instance.valueNames(prefix)
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
}
