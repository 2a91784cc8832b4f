/** What transactions of the task store changed, on its way to another store. */
import { BUCKET_POSITION_STORED_AS } from './store/replicated-tables.js'
import type { OutboxPage } from './store/row-changes.js'
import type { StoreClient } from './store/store-client.js'

export interface OutgoingChanges {
  /** The oldest changes that were not sent, null without any. @param charsMax see `Outbox.page` */
  next(charsMax: number): Promise<OutboxPage | null>
  /** Another place has the changes up to transaction `last`. @param position where they stand in it */
  sent(last: number, position: number): Promise<void>
  /** The last position that `sent` or a replica has noted; null without one. */
  position(): Promise<number | null>
}

export const outgoingChanges = (store: StoreClient): OutgoingChanges => ({
  next: (charsMax) => store.call('changes', [charsMax]),
  sent: (last, position) => store.call('changesSent', [last, position]),
  position: async () => (await store.call('value', [BUCKET_POSITION_STORED_AS])) as number | null,
})
