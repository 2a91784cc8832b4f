/** A task store that is built from the row changes of another store. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeDirectory } from '../../engine/index.js'

import { RESERVE_BYTES, StoreError } from '../../sqlite/index.js'
import { STORE_BYTES_MAX } from '../limits.js'
import { StoreUnusableError } from '../store/completeness.js'
import { markPath, storePath } from '../store/paths.js'
import type { NeededUpload } from '../store/records.js'
import { SCHEMA_VERSION } from '../store/schema.js'
import { openStoreClient, type StoreClient } from '../store/store-client.js'
import type { OutboxFacts, RowChanges } from './row-changes.js'
import { BUCKET_POSITION_STORED_AS, OUTBOX_STORED_AS } from './tables.js'

export interface ReplicaStore {
  /** Position of the last applied changes; null without any. */
  readonly position: number | null
  /** Its own changes that were not sent to a bucket; null: the store keeps none. */
  readonly outbox: OutboxFacts | null
  /** Uploads that waiting tasks need. */
  uploads(): Promise<readonly NeededUpload[]>
  /** Applies row changes of the other store. @param position log record that holds them */
  apply(changes: RowChanges, position: number): Promise<void>
  /** Stops keeping its own changes, also for later openings. */
  endKeeping(): Promise<void>
  /** Returns the identity of its outbox; creates a random one if it has none. */
  identify(): Promise<string>
  close(): Promise<void>
}

/** Schema version of the rows that a replica accepts. */
export const replicaSchema = SCHEMA_VERSION

/** Paths where an image of another store must be before the replica is opened, and of uploads. */
export { chooseStore, dropPrepared, prepareStore } from '../store/next-store.js'
export { indexesPath, storePath as replicaStorePath, uploadsPath } from '../store/paths.js'

/** Removes the store of a data directory that no process uses. */
export async function removeStore(directory: string): Promise<void> {
  await rm(markPath(directory), { force: true })
  await rm(dirname(storePath(directory)), { recursive: true, force: true })
}

/**
 * Opens or creates the store of a data directory that no process uses.
 * @param reserveBytes see `RESERVE_BYTES`
 * @throws StoreUnusableError, DirectoryInUseError, among others
 */
export async function openReplicaStore(
  directory: string,
  reserveBytes: number = RESERVE_BYTES,
): Promise<ReplicaStore> {
  await makeDirectory(directory)
  const store = await openStoreClient(
    {
      directory,
      // Without a store, indexes of an unfinished copy may exist.
      isNew: !existsSync(storePath(directory)),
      isForeign: true,
      isCompared: false,
      driver: null,
      reserveBytes,
      storeBytesMax: STORE_BYTES_MAX,
    },
    () => undefined,
  ).catch((error: unknown) => {
    if (error instanceof StoreError && error.reason === StoreUnusableError.name)
      throw new StoreUnusableError(error.message, { cause: error })
    throw error
  })
  let position = (await store.call('value', [BUCKET_POSITION_STORED_AS])) as number | null
  return {
    get position() {
      return position
    },
    outbox: await store.call('outbox', []),
    uploads: () => store.call('uploads', []),
    async apply(changes, reached) {
      await store.call('applyChanges', [changes, reached])
      position = reached
    },
    identify: () => identify(store),
    endKeeping: () => store.call('endKeeping', []),
    close: () => store.close(),
  }
}

/** See `ReplicaStore.identify`. */
export async function identify(store: Pick<StoreClient, 'call'>): Promise<string> {
  const known = await store.call('value', [OUTBOX_STORED_AS])
  if (typeof known === 'string') return known
  const identity = randomUUID()
  await store.call('putValue', [OUTBOX_STORED_AS, identity])
  return identity
}
