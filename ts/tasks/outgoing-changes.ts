/** What transactions of the task store changed, on its way to a bucket. */
import { BUCKET_POSITION_STORED_AS } from './store/replicated-tables.js'
import type { OutgoingPage } from './store/row-changes.js'
import type { StoreClient } from './store/store-client.js'

/** Runs `read` while no batch is between the commit of one of these indexes and the record of its outcome. */
export type KeepOut = <T>(indexUids: readonly string[] | null, read: () => Promise<T>) => Promise<T>

export interface OutgoingChanges {
  /** The oldest changes that were not sent, null without any. @param charsMax see `Outbox.page` */
  next(charsMax: number): Promise<OutgoingPage | null>
  /** See `KeepOut`; null: of any index. */
  readonly keepOut: KeepOut
  /** The bucket has the changes up to transaction `last`. @param position the entry of its log that has them */
  sent(last: number, position: number): Promise<void>
  /**
   * Copies the store to `path`, which must not exist, for a process that starts from it.
   * @returns the last transaction in the copy, and whose number it is; `next` gives what led to it at once
   */
  image(path: string): Promise<{ readonly last: number; readonly outbox: string }>
  /** The position that was noted last; null without one, and after a start that kept no changes. */
  position(): Promise<number | null>
}

export const outgoingChanges = (store: StoreClient, keepOut: KeepOut): OutgoingChanges => ({
  next: (charsMax) => store.call('changes', [charsMax]),
  keepOut,
  sent: (last, position) => store.call('changesSent', [last, position]),
  async image(path) {
    const image = await store.call('image', [path])
    // What was not synced yet is given to no bucket.
    await store.call('sync', [])
    return image
  },
  position: async () => (await store.call('value', [BUCKET_POSITION_STORED_AS])) as number | null,
})
