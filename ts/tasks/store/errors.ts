/** A page or row of the store differs from what was written. The message follows the path of the store. */
export class DamagedStoreError extends Error {
  override readonly name = 'DamagedStoreError'
}

/** A store from a snapshot or a bucket was not written by this program. */
export class ForeignStoreError extends Error {
  override readonly name = 'ForeignStoreError'

  /** @param reason follows "it was not written by siftd:" */
  constructor(reason: string) {
    super(`its task store was not written by siftd: ${reason}`)
  }
}

/** The store was written by an unknown version of this program. Nothing was changed. */
export class StoreVersionError extends Error {
  override readonly name = 'StoreVersionError'
}
