/** A table that is copied to other servers: its key column and all columns. */

export interface ReplicatedTable {
  readonly name: string
  readonly key: string
  readonly columns: string
}

/**
 * Rows are written in this order. Not replicated: `sets` and `swap_names`, which are derived from these tables, and
 * `disposable` and `failed_commits`, which describe the files of one directory.
 */
export const replicatedTables: readonly ReplicatedTable[] = [
  {
    name: 'batches',
    key: 'uid',
    columns:
      'uid, started_at, finished_at, oldest_enqueued_at, newest_enqueued_at, strategy, details, stats, oldest_uid, ' +
      'newest_uid, era, ended, end_era',
  },
  {
    name: 'tasks',
    key: 'uid',
    columns:
      'uid, batch_uid, index_uid, new_index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, ' +
      'details, error, custom_metadata',
  },
  {
    name: 'contents',
    key: 'uid',
    columns: 'uid, body, kind, payload, payload_bytes, primary_key, may_create, touches',
  },
  {
    name: 'undelivered',
    key: 'uid',
    columns:
      'uid, batch_uid, index_uid, status, type, canceled_by, enqueued_at, started_at, finished_at, details, error, ' +
      'custom_metadata, ended',
  },
  {
    name: 'catalogue',
    key: 'uid',
    columns: 'uid, id, primary_key, created_at, updated_at, last_batch',
  },
  { name: 'keys', key: 'uid', columns: 'uid, body, checksum' },
  { name: 'instance', key: 'name', columns: 'name, body, checksum' },
  { name: 'webhooks', key: 'uuid', columns: 'uuid, body, delivered, checksum' },
]

/** Key of the store's identity among the stored values of the instance. */
export const IDENTITY_STORED_AS = 'taskStoreIdentity'

/** Key of the bucket log position up to which the store has the changes, among the stored values of the instance. */
export const BUCKET_POSITION_STORED_AS = 'bucketPosition'

/** Key of the outbox's identity, which scopes transaction numbers, among the stored values of the instance. */
export const OUTBOX_STORED_AS = 'outboxIdentity'

/** Stored values that belong to one store and are never replicated. */
export const localValues: readonly string[] = [
  IDENTITY_STORED_AS,
  BUCKET_POSITION_STORED_AS,
  OUTBOX_STORED_AS,
]
