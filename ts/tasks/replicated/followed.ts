import type { ApiError } from '../../errors/index.js'
import { optionOf } from '../../launch/index.js'
import { SettingsThread } from '../../settings/index.js'
import { RESERVE_BYTES } from '../../sqlite/index.js'
import { Catalogue } from '../catalogue/catalogue.js'
import { StoredRules } from '../catalogue/stored-rules.js'
import { TaskChanges } from '../changes.js'
import { systemClock } from '../clock.js'
import { STORE_BYTES_MAX } from '../limits.js'
import type { OpenedTasks, TasksSetup } from '../open.js'
import { instanceStore, queue, webhookStore } from '../queue.js'
import { openSpool } from '../spool.js'
import { storePath, uploadsPath } from '../store/paths.js'
import { openStoreClient, type StoreClient } from '../store/store-client.js'
import { Waiting } from '../waiting.js'
import { identify, type ReplicaStore } from './replica-store.js'
import type { RowChanges } from './row-changes.js'
import { BUCKET_POSITION_STORED_AS } from './tables.js'

/** A read-only copy of another server's queue and catalogue, updated with its changes. */
export interface FollowedTasks extends Omit<OpenedTasks, 'outgoing' | 'call'> {
  /** The last log record that was applied; null: none. */
  position(): Promise<number | null>
  /** Applies row changes of the other server, and notifies those who wait for tasks. */
  follow(changes: RowChanges, position: number): Promise<void>
  /** See `ReplicaStore`. */
  readonly identify: ReplicaStore['identify']
  readonly uploads: ReplicaStore['uploads']
  /** Closes the store, so that this process can open the directory in another way. Calls wait for `continueIn`. */
  release(): Promise<void>
  /** Lets all calls go to the store that was opened instead. */
  continueIn(call: StoreClient['call']): void
}

/**
 * Opens a task store that is a copy of another server's. It runs no tasks and refuses every write.
 * @param setup `refusal` returns the error for a refused write
 */
export async function openFollowedTasks({
  directory,
  engine,
  log,
  refusal,
  ...setup
}: Pick<TasksSetup, 'directory' | 'engine' | 'log' | 'driver'> & {
  readonly refusal: () => ApiError
}): Promise<FollowedTasks> {
  const opened = await openStoreClient(
    {
      ...{ directory, isNew: false, isCompared: false },
      driver: setup.driver ?? optionOf('taskStoreDriver', process.env),
      ...{ reserveBytes: RESERVE_BYTES, storeBytesMax: STORE_BYTES_MAX },
    },
    (fault) => log.warn(fault, 'work in the background failed'),
  )
  const store = new SwitchedStore(opened)
  try {
    const spool = await openSpool(uploadsPath(directory))
    const catalogue = new Catalogue(await store.call('catalogue', []))
    const rules = await StoredRules.open(store)
    const changes = new TaskChanges()
    const waiting = new Waiting(changes, systemClock)
    const settingsThread = new SettingsThread()
    const readers = new Set<() => Promise<void>>()
    const refuse = (): Promise<never> => Promise.reject(refusal())
    const path = storePath(directory)
    const tasks = queue({
      ...{ engine, store, spool, catalogue, rules, changes, waiting, path },
      scheduler: idle,
      storeBytesMax: STORE_BYTES_MAX,
      isSent: false,
      runScript: refuse,
    })
    const webhooks = webhookStore(store, changes)
    return {
      tasks: { ...tasks, enqueue: refuse, checkFunction: refuse, spool: refuse },
      instance: {
        ...instanceStore(store),
        ...{ putKey: refuse, deleteKey: refuse, putValue: refuse, deleteValue: refuse },
        isCopy: true,
        onReplaced: (read) => void readers.add(read),
      },
      webhooks: {
        ...webhooks,
        ...{ put: refuse, delete: refuse },
        // The leader calls the webhooks.
        ...{ launch: async () => undefined, next: async () => null, onBatch: () => () => undefined },
        onReplaced: (read) => void readers.add(read),
      },
      settingsThread,
      driver: store.driver,
      start: () => undefined,
      stop: async () => waiting.close(),
      async close() {
        waiting.close()
        await settingsThread.close()
        await store.close()
      },
      identify: () => identify(store),
      uploads: () => store.call('uploads', []),
      release: () => store.release(),
      continueIn: (call) => store.continueIn(call),
      position: async () => (await store.call('value', [BUCKET_POSITION_STORED_AS])) as number | null,
      async follow(rows, position) {
        // A client that sees the end of a task must see the indexes as the task left them.
        await store.call('applyChanges', [rows, position], (indexes) => {
          if (indexes !== null) catalogue.replace(indexes)
        })
        if (rows.instance !== undefined) await rules.reload()
        if ([rows.keys, rows.instance, rows.webhooks].some((table) => table !== undefined))
          for (const read of readers) await read()
        tell(rows, changes)
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** A store whose calls continue in another store of the same directory. */
class SwitchedStore implements StoreClient {
  readonly #first: StoreClient
  readonly driver: StoreClient['driver']
  readonly reasons: StoreClient['reasons']
  readonly uncheckedReason: StoreClient['uncheckedReason']
  #next: Promise<StoreClient['call']> | null = null
  #continue: (call: StoreClient['call']) => void = () => undefined

  constructor(first: StoreClient) {
    this.#first = first
    this.driver = first.driver
    this.reasons = first.reasons
    this.uncheckedReason = first.uncheckedReason
  }

  readonly call: StoreClient['call'] = (...given) =>
    this.#next === null ? this.#first.call(...given) : this.#next.then((call) => call(...given))

  readonly copyTo: StoreClient['copyTo'] = (...given) => this.#first.copyTo(...given)
  readonly compact: StoreClient['compact'] = () => this.#first.compact()

  async release(): Promise<void> {
    this.#next = new Promise((resolve) => {
      this.#continue = resolve
    })
    await this.#first.close()
  }

  continueIn(call: StoreClient['call']): void {
    this.#continue(call)
  }

  async close(): Promise<void> {
    if (this.#next === null) await this.#first.close()
  }
}

/** Stands in for the scheduler, as no batch runs here. */
const idle = {
  interrupt: () => undefined,
  wake: () => undefined,
  isIndexing: () => false,
  progress: async () => null,
}

const ENDED: ReadonlySet<unknown> = new Set(['succeeded', 'failed', 'canceled'])

/** Notifies of changed tasks, grouped by batch as in a queue that runs tasks. */
function tell({ tasks }: RowChanges, changes: TaskChanges): void {
  const batches = new Map<
    string,
    { readonly batchUid: number | null; readonly hasEnded: boolean; taskUids: number[] }
  >()
  for (const [uid, batch, , , status] of tasks?.rows ?? []) {
    const batchUid = batch === null || batch === undefined ? null : Number(batch)
    const hasEnded = ENDED.has(status)
    const key = `${batchUid} ${hasEnded}`
    const known = batches.get(key) ?? { batchUid, hasEnded, taskUids: [] }
    known.taskUids.push(Number(uid))
    batches.set(key, known)
  }
  for (const change of batches.values()) changes.emit(change)
}
