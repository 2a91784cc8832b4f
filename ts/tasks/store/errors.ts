/** A page or row of the store is not what was written. The message follows the path of the store. */
export class DamagedStoreError extends Error {
  override readonly name = 'DamagedStoreError'
}

/** The log of the store could not be written into its file; both stay as they are. */
export class CheckpointError extends Error {
  override readonly name = 'CheckpointError'
}

/** The store was written by an unknown version of this program. Nothing was changed. */
export class StoreVersionError extends Error {
  override readonly name = 'StoreVersionError'
}
