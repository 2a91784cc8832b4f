/** The task queue: accepts writes, runs them in batches, records outcomes, and keeps the catalogue of indexes. */

export { DirectoryInUseError, type DriverName, isDiskFull, StoreError } from '../sqlite/index.js'
export type { TaskChange } from './changes.js'
export type { AroundBatch, TaskLog } from './execute/batch-context.js'
export type {
  DumpedBatch,
  DumpedTask,
  DumpSource,
  FrozenDocuments,
  FrozenInstance,
  WriteDump,
} from './execute/dump-source.js'
export type { ExportIndex, ExportTarget } from './execute/export.js'
export type { SnapshotSource, WriteSnapshot } from './execute/snapshot-source.js'
export { INLINE_PAYLOAD_BYTES_MAX, RESTORED_BATCH_UIDS, STORED_TASKS_MAX } from './limits.js'
export { type OpenedTasks, openTasks, type TasksSetup } from './open.js'
export { type Rebuilt, rebuildTaskStore } from './recovery/rebuild.js'
export { UnreadableIndexError } from './recovery/recovery.js'
export { openRepair, type RepairedIndex, type RepairQueue, storeObjection } from './recovery/repair.js'
export { openRestore, type Restore } from './recovery/restore.js'
export { type FollowedTasks, openFollowedTasks } from './replicated/followed.js'
export type { OutgoingChanges } from './replicated/outgoing-changes.js'
export {
  chooseStore,
  dropPrepared,
  indexesPath,
  openReplicaStore,
  prepareStore,
  type ReplicaStore,
  removeStore,
  replicaSchema,
  replicaStorePath,
  uploadsPath,
} from './replicated/replica-store.js'
export {
  catalogueIn,
  merged as mergedChanges,
  type OutboxFacts,
  type OutgoingPage,
  portionsOf,
  type RowChanges,
  uploadsIn,
} from './replicated/row-changes.js'
export { replicatedTables } from './replicated/tables.js'
export * from './rules/index.js'
export { sourceAtRest } from './source-at-rest.js'
export { checksumOf, noSpace, uploadOf } from './spool.js'
export { requireCompleteStore, StoreUnusableError } from './store/completeness.js'
export type { NeededUpload } from './store/records.js'
export { releaseReserve } from './store/release-reserve.js'
export { startStoreThread } from './store/store-thread.js'
export type { StoredWebhook, WebhookBody } from './store/stored-webhook.js'
export { LAUNCH_WEBHOOK } from './store/webhook-table.js'
export * from './task.js'
export type * from './tasks.js'
export { firstUid, type UidClass } from './uid-class.js'
export { claimDirectory, protectionLost, requireUnclaimed, verifyDirectory } from './verify-directory.js'
