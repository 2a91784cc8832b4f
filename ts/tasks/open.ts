import { join } from 'node:path'
import { type Embedders, embeddingError, openVectorSpool, type VectorSpool } from '../embedding/index.js'
import { BackgroundFaults, type Engine, makeDirectory, type RunScript } from '../engine/index.js'
import { ApiError } from '../errors/index.js'
import { optionOf } from '../launch/index.js'
import { SettingsThread } from '../settings/index.js'
import { type DriverName, RESERVE_BYTES } from '../sqlite/index.js'
import { Catalogue } from './catalogue/catalogue.js'
import {
  type CatalogueFile,
  catalogueFile,
  updateCatalogueFile,
  warnOfDamagedCatalogueFile,
} from './catalogue/catalogue-file.js'
import { StoredRules } from './catalogue/stored-rules.js'
import { TaskChanges } from './changes.js'
import { type Clock, systemClock } from './clock.js'
import type { AroundBatch, BatchContext, TaskLog } from './execute/batch-context.js'
import type { WriteDump } from './execute/dump-source.js'
import type { ExportIndex } from './execute/export.js'
import { scriptRunner } from './execute/run-script.js'
import type { WriteSnapshot } from './execute/snapshot-source.js'
import {
  BATCHED_BYTES_MAX,
  BATCHED_CONTENT_BYTES_MAX,
  BATCHED_TASKS_MAX,
  STORE_BYTES_MAX,
  STORED_TASKS_MAX,
  WORKING_BATCHES_MAX,
} from './limits.js'
import { instanceStore, queue, webhookStore } from './queue.js'
import { enqueueUpgrade, type Upgrade } from './recovery/enqueue-upgrade.js'
import { type Quarantine, quarantineIn } from './recovery/orphans.js'
import { recover } from './recovery/recovery.js'
import { type OutgoingChanges, outgoingChanges } from './replicated/outgoing-changes.js'
import { Scheduler, type SchedulerLimits } from './scheduler.js'
import { openSpool, type Spool } from './spool.js'
import { storePath, uploadsPath } from './store/paths.js'
import { openStoreClient, type StoreClient } from './store/store-client.js'
import type { InstanceStore, Tasks, WebhookStore } from './tasks.js'
import { everyUid, type UidClass } from './uid-class.js'
import { Waiting } from './waiting.js'

export interface TasksSetup {
  /** The data directory. The queue uses `tasks/`, `update_files/` and `paid_vectors/` in it. */
  readonly directory: string
  readonly engine: Engine
  readonly log: TaskLog
  /** Counts faults of background work. Absent: faults are only logged. */
  readonly faults?: BackgroundFaults
  /** null or absent: the defaults of `limits.ts`. */
  readonly limits?: { readonly [K in Exclude<keyof SchedulerLimits, 'storedTasksMax'>]?: number | null }
  /** Reserved disk space and the largest size of the task store, in bytes; absent: the defaults of `limits.ts`. */
  readonly capacity?: { readonly reserveBytes?: number; readonly storeBytesMax?: number }
  /** Number of stored tasks at which the oldest are deleted; absent: the default of `limits.ts`. */
  readonly storedTasksMax?: number | undefined
  /** Forces a SQLite build, like the launch option. */
  readonly driver?: DriverName
  /** True if `requireCompleteStore` has just compared the pages of the store with their checksums. */
  readonly isCompared?: boolean
  /** Set if the data is of an older version: an upgrade task is enqueued, which runs before all others. */
  readonly upgrade?: Upgrade
  /**
   * True to keep the row changes of each transaction for `OpenedTasks.outgoing`; false to stop and drop kept changes.
   * Absent: as at the previous start.
   */
  readonly keepsChanges?: boolean | undefined
  /** Uids of new tasks and batches. Absent: all. */
  readonly uidClass?: UidClass | undefined
  /** Requests vectors. Absent: documents that need vectors fail with an error code. */
  readonly embedders?: Embedders | undefined
  /** Checks the models of rerankers in settings. Absent: they are not checked. */
  readonly rerankers?: BatchContext['rerankers'] | undefined
  /** Runs each batch, to observe it. Absent: nothing does. */
  readonly aroundBatch?: AroundBatch | undefined
  /** Copies an index to another instance. Absent: exports fail with an error code. */
  readonly exportIndex?: ExportIndex | undefined
  /** Writes a dump. Absent: dumps fail with an error code. */
  readonly writeDump?: WriteDump | undefined
  /** Writes a snapshot. Absent: snapshots fail with an error code. */
  readonly writeSnapshot?: WriteSnapshot | undefined
}

export interface OpenedTasks {
  readonly tasks: Tasks
  readonly instance: InstanceStore
  readonly webhooks: WebhookStore
  /** Parses settings in requests, and merges settings when their tasks run. */
  readonly settingsThread: SettingsThread
  /** Row changes that wait to be sent to a bucket. */
  readonly outgoing: OutgoingChanges
  /** Calls the task store. Requests that a copy of the directory has accepted continue here. */
  readonly call: StoreClient['call']
  /** The SQLite build in use. */
  readonly driver: DriverName
  /** Starts the scheduler. Until then tasks are accepted but not run. */
  start(): void
  /**
   * Interrupts the running batches, begins no other, and answers clients that wait for the end of a task. Tasks are
   * still accepted; the next start runs them.
   */
  stop(): Promise<void>
  /** Calls `stop`, then closes the store. The engine stays open; its owner closes it. */
  close(): Promise<void>
}

/**
 * Opens the task store and makes it consistent with the engine; see `recover`.
 *
 * Rejects, with a message for humans, if another process uses the directory or the store is damaged or incomplete.
 * Nothing was changed in this case.
 */
export async function openTasks(setup: TasksSetup): Promise<OpenedTasks> {
  const { directory, log } = setup
  await makeDirectory(directory)
  const driver = setup.driver ?? optionOf('taskStoreDriver', process.env)
  const { reserveBytes = RESERVE_BYTES, storeBytesMax = STORE_BYTES_MAX } = setup.capacity ?? {}
  const { faults = new BackgroundFaults(log) } = setup
  const store = await openStoreClient(
    {
      directory,
      isNew: false,
      isCompared: setup.isCompared ?? false,
      keepsChanges: setup.keepsChanges,
      uidClass: setup.uidClass,
      driver,
      reserveBytes,
      storeBytesMax,
    },
    faults.report,
  )
  try {
    if (store.reasons.length > 0)
      log.warn({ reasons: store.reasons, driver: store.driver }, 'task store fallback')
    if (store.uncheckedReason !== null)
      log.warn({ reason: store.uncheckedReason }, 'the task store cannot be checked; it is taken as it is')
    await warnOfDamagedCatalogueFile(directory, log)
    const spool = await openSpool(uploadsPath(directory))
    const runScript = scriptRunner(log)
    const path = storePath(directory)
    const quarantine = quarantineIn(directory)
    const names = catalogueFile(directory)
    const vectorSpool = openVectorSpool(join(directory, 'paid_vectors'), (facts, message) =>
      log.warn(facts, message),
    )
    const clock = systemClock
    return await assemble(setup, {
      store,
      spool,
      vectorSpool,
      path,
      clock,
      runScript,
      quarantine,
      names,
    })
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The open store and the other resources of the queue. */
interface QueueResources {
  readonly store: StoreClient
  readonly spool: Spool
  readonly vectorSpool: VectorSpool
  /** Path of the store's file. */
  readonly path: string
  readonly clock: Clock
  readonly runScript: RunScript
  readonly quarantine: Quarantine
  readonly names: CatalogueFile
}

/** Builds the queue over an open store, and makes it consistent with the engine. */
export async function assemble(
  setup: Omit<TasksSetup, 'directory' | 'driver'>,
  { store, spool, vectorSpool, path, clock, runScript, quarantine, names }: QueueResources,
): Promise<OpenedTasks> {
  const { engine, log } = setup
  const start = await store.call('start', [])
  const catalogue = new Catalogue(start.catalogue)
  const rules = await StoredRules.open(store)
  const embedders = setup.embedders ?? noEmbedders
  const rerankers = setup.rerankers ?? { requireModels: async () => undefined }
  const exportIndex = setup.exportIndex ?? noExport
  const writeDump = setup.writeDump ?? noDump
  const writeSnapshot = setup.writeSnapshot ?? noSnapshot
  const settingsThread = new SettingsThread()
  const context: BatchContext = {
    engine,
    store,
    spool,
    catalogue,
    rules,
    log,
    clock,
    embedders,
    rerankers,
    vectorSpool,
    settingsThread,
    runScript,
    exportIndex,
    writeDump,
    writeSnapshot,
    names,
    aroundBatch: setup.aroundBatch,
  }
  const nextBatchUid = await recover(start, context, quarantine)
  await updateCatalogueFile(catalogue, context)
  if (setup.upgrade !== undefined) await enqueueUpgrade(setup.upgrade, store)
  const limits: SchedulerLimits = {
    storedTasksMax: setup.storedTasksMax ?? STORED_TASKS_MAX,
    batchesMax: setup.limits?.batchesMax ?? WORKING_BATCHES_MAX,
    tasksMax: Math.min(setup.limits?.tasksMax ?? BATCHED_TASKS_MAX, BATCHED_TASKS_MAX),
    payloadBytesMax: setup.limits?.payloadBytesMax ?? BATCHED_BYTES_MAX,
    contentBytesMax: setup.limits?.contentBytesMax ?? BATCHED_CONTENT_BYTES_MAX,
  }
  const { storeBytesMax = STORE_BYTES_MAX } = setup.capacity ?? {}
  const changes = new TaskChanges()
  const waiting = new Waiting(changes, clock)
  const scheduler = new Scheduler(
    context,
    limits,
    { next: nextBatchUid, uidClass: setup.uidClass ?? everyUid },
    changes,
  )
  const parts = { engine, store, spool, catalogue, rules, scheduler, changes, waiting, path }
  const stop = (): Promise<void> => {
    waiting.close()
    return scheduler.close()
  }
  return {
    tasks: queue({ ...parts, storeBytesMax, isSent: setup.keepsChanges === true, runScript }),
    instance: instanceStore(store),
    settingsThread,
    webhooks: webhookStore(store, changes),
    outgoing: outgoingChanges(store, spool, {
      holdCommits: (names, read) => scheduler.holdCommits(names, read),
      beforeRecord: (hook) => scheduler.beforeRecord(hook),
    }),
    call: store.call,
    driver: store.driver,
    start: () => scheduler.start(),
    stop,
    async close() {
      await stop()
      await settingsThread.close()
      await store.close()
    },
  }
}

/** Refuses exports, in a process that cannot reach other instances. */
const noExport: ExportIndex = () =>
  Promise.reject(
    new ApiError('feature_not_enabled', 'indexes are exported by a server, not from inside a process'),
  )

/** Refuses dumps, in a process without a directory for them. */
const noDump: WriteDump = () =>
  Promise.reject(
    new ApiError('dump_process_failed', 'dumps are written by a server, not from inside a process'),
  )
/** Refuses snapshots, in a process without a directory for them. */
const noSnapshot: WriteSnapshot = () =>
  Promise.reject(
    new ApiError('feature_not_enabled', 'snapshots are written by a server, not from inside a process'),
  )

const refuseEmbedding = (): never => {
  throw embeddingError('vectors are made by a server, not from inside a process')
}

/** Refuses to embed, in a process without embedders. */
const noEmbedders: Embedders = {
  settled: (_before, after) => Promise.resolve(after),
  documents: refuseEmbedding,
  search: async () => refuseEmbedding(),
}
