/** A store that cannot be relied on; the message follows its path. Nothing was changed. */
export class DamagedStoreError extends Error {
  override readonly name = 'DamagedStoreError'
}

/** The store was written by a version of this program that this one does not know. Nothing was changed. */
export class StoreVersionError extends Error {
  override readonly name = 'StoreVersionError'
}
