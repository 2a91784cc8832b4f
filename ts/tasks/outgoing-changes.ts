/** What transactions of the task store changed, on its way to another store. */
import { BUCKET_POSITION_STORED_AS, IMAGE_STORED_AS } from './store/replicated-tables.js'
import type { OutboxPage } from './store/row-changes.js'
import type { StoreClient } from './store/store-client.js'

export interface OutgoingChanges {
  /** The oldest changes that were not sent, null without any. @param charsMax see `Outbox.page` */
  next(charsMax: number): Promise<OutboxPage | null>
  /** Another place has the changes up to transaction `last`. @param position where they stand in it */
  sent(last: number, position: number): Promise<void>
  /**
   * Copies the store to `path`, which must not exist, as a process that starts from it needs it.
   * @returns the last transaction in the copy; `next` gives it soon
   */
  image(path: string): Promise<number>
  /** The last position that `sent` or a replica has noted; null without one. */
  position(): Promise<number | null>
}

export const outgoingChanges = (store: StoreClient): OutgoingChanges => ({
  next: (charsMax) => store.call('changes', [charsMax]),
  sent: (last, position) => store.call('changesSent', [last, position]),
  async image(path) {
    const last = await store.call('image', [path])
    // What was not synced yet is given to nobody; this syncs it.
    await store.call('putValue', [IMAGE_STORED_AS, last])
    return last
  },
  position: async () => (await store.call('value', [BUCKET_POSITION_STORED_AS])) as number | null,
})
