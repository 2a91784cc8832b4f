/** A task store that is made from what transactions of another one changed. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'

import { RESERVE_BYTES, STORE_BYTES_MAX } from './limits.js'
import { makeDirectory } from './make-directory.js'
import { StoreUnusableError } from './store/completeness.js'
import { markPath, storePath } from './store/paths.js'
import type { NeededUpload } from './store/records.js'
import { BUCKET_POSITION_STORED_AS, OUTBOX_STORED_AS } from './store/replicated-tables.js'
import type { OutboxFacts, RowChanges } from './store/row-changes.js'
import { SCHEMA_VERSION } from './store/schema.js'
import { openStoreClient, StoreError } from './store/store-client.js'

export interface ReplicaStore {
  /** The position of the last changes that it has; null without any. */
  readonly position: number | null
  /** What a bucket was not sent of its own changes; null: the store keeps none. */
  readonly outbox: OutboxFacts | null
  /** Uploads that waiting tasks need. */
  uploads(): Promise<readonly NeededUpload[]>
  /** Makes rows those of the other store. @param position the entry of the log that has these changes */
  apply(changes: RowChanges, position: number): Promise<void>
  /** Stops to keep changes of its own; the next opening keeps none. */
  endKeeping(): Promise<void>
  /** The identity under which changes of this store are kept; drawn if it has none. */
  identify(): Promise<string>
  close(): Promise<void>
}

/** Version of the tables that a replica takes rows for. */
export const replicaSchema = SCHEMA_VERSION

/** Where an image of another store has to lie before the replica is opened, and where uploads lie. */
export { chooseStore, dropPrepared, isPrepared, prepareStore } from './store/next-store.js'
export { indexesPath, storePath as imagePath, uploadsPath } from './store/paths.js'

/** Removes the store of a data directory that no process serves. */
export async function removeStore(directory: string): Promise<void> {
  await rm(markPath(directory), { force: true })
  await rm(dirname(storePath(directory)), { recursive: true, force: true })
}

/**
 * Opens the store of a data directory that no process serves, or makes it.
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
      // Without a store, indexes may be there of a copy that was not finished.
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
    async identify() {
      const known = await store.call('value', [OUTBOX_STORED_AS])
      if (typeof known === 'string') return known
      const drawn = randomUUID()
      await store.call('putValue', [OUTBOX_STORED_AS, drawn])
      return drawn
    },
    endKeeping: () => store.call('endKeeping', []),
    close: () => store.close(),
  }
}
