/** What transactions of the task store changed, on its way to a bucket. */
import type { Spool } from './spool.js'
import type { NeededUpload } from './store/records.js'
import { BUCKET_POSITION_STORED_AS } from './store/replicated-tables.js'
import type { OutboxFacts, OutgoingPage } from './store/row-changes.js'
import type { StoreClient } from './store/store-client.js'

/** Runs `read` while no batch is between the commit of one of these indexes and the record of its outcome. */
export type KeepOut = <T>(indexUids: readonly string[] | null, read: () => Promise<T>) => Promise<T>

/** Called with the ids of indexes that a batch has committed to, before its outcome is recorded. Never rejects. */
export type BeforeRecord = (ids: readonly string[]) => Promise<void>

export interface OutgoingChanges {
  /** The oldest changes that are kept, null without any. @param charsMax, after see `Outbox.page` */
  next(charsMax: number, after: number): Promise<OutgoingPage | null>
  /** See `KeepOut`; null: of any index. */
  readonly keepOut: KeepOut
  /** The bucket has the changes up to transaction `last`. @param position the entry of its log that has them */
  sent(last: number, position: number): Promise<void>
  /**
   * Copies the store to `path`, which must not exist, for a process that starts from it.
   * @returns the last transaction in the copy, and whose number it is; `next` gives what led to it at once
   */
  image(path: string): Promise<{ readonly last: number; readonly outbox: string }>
  /** See `OutboxFacts`. */
  facts(): Promise<OutboxFacts>
  /** Makes what was written so far durable, so that `next` gives it. */
  sync(): Promise<void>
  /** From now on outcomes of batches wait for `hook`; null: for nothing. */
  beforeRecord(hook: BeforeRecord | null): void
  /** Files of uploaded bodies, which tasks name until they have ended. */
  readonly uploads: Uploads
  /** The position that was noted last, -1 before the first entry; null without one, and after a start that kept no changes. */
  position(): Promise<number | null>
}

/** Files of uploaded bodies by their names. */
export interface Uploads {
  pathOf(name: string): string
  /** Keeps files although their tasks may end. @returns lets go of them */
  hold(names: readonly string[]): () => Promise<void>
  /** Those that waiting tasks need. */
  needed(): Promise<readonly NeededUpload[]>
  /** Removes a file that no task names. */
  discard(name: string): Promise<void>
}

export const outgoingChanges = (
  store: StoreClient,
  spool: Spool,
  { keepOut, beforeRecord }: Pick<OutgoingChanges, 'keepOut' | 'beforeRecord'>,
): OutgoingChanges => ({
  next: (charsMax, after) => store.call('changes', [charsMax, after]),
  keepOut,
  beforeRecord,
  sent: (last, position) => store.call('changesSent', [last, position]),
  async image(path) {
    const image = await store.call('image', [path])
    // What was not synced yet is given to no bucket.
    await store.call('sync', [])
    return image
  },
  async facts() {
    const facts = await store.call('outbox', [])
    if (facts === null) throw new Error('the task store keeps no changes')
    return facts
  },
  sync: () => store.call('sync', []),
  uploads: {
    pathOf: spool.pathOf,
    hold: spool.hold,
    needed: () => store.call('uploads', []),
    discard: spool.remove,
  },
  position: async () => (await store.call('value', [BUCKET_POSITION_STORED_AS])) as number | null,
})
