/** A task store that is made from what transactions of another one changed. */

import { RESERVE_BYTES, STORE_BYTES_MAX } from './limits.js'
import { makeDirectory } from './make-directory.js'
import { BUCKET_POSITION_STORED_AS } from './store/replicated-tables.js'
import type { RowChanges } from './store/row-changes.js'
import { SCHEMA_VERSION } from './store/schema.js'
import { openStoreClient } from './store/store-client.js'

export interface ReplicaStore {
  /** The position of the last changes that it has; null without any. */
  readonly position: number | null
  /** Makes rows those of the other store. @param position the entry of the log that has these changes */
  apply(changes: RowChanges, position: number): Promise<void>
  close(): Promise<void>
}

/** Version of the tables that a replica takes rows for. */
export const replicaSchema = SCHEMA_VERSION

/** Where an image of another store has to lie before the replica is opened. */
export { storePath as imagePath } from './store/paths.js'

/** Opens the store of a data directory that no process serves, or makes it. @throws DirectoryInUseError, among others */
export async function openReplicaStore(directory: string): Promise<ReplicaStore> {
  await makeDirectory(directory)
  const store = await openStoreClient(
    {
      directory,
      isNew: true,
      isCompared: false,
      driver: null,
      reserveBytes: RESERVE_BYTES,
      storeBytesMax: STORE_BYTES_MAX,
    },
    () => undefined,
  )
  return {
    position: (await store.call('value', [BUCKET_POSITION_STORED_AS])) as number | null,
    apply: (changes, position) => store.call('applyChanges', [changes, position]),
    close: () => store.close(),
  }
}
