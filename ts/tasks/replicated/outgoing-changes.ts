/** Row changes of the task store that wait to be sent to a bucket. */
import type { Spool } from '../spool.js'
import type { NeededUpload } from '../store/records.js'
import type { StoreClient } from '../store/store-client.js'
import type { OutboxFacts, OutgoingPage } from './row-changes.js'
import { BUCKET_POSITION_STORED_AS } from './tables.js'

/** Runs `read` while no batch is between the commit of one of these indexes and the record of its outcome. */
type HoldCommits = <T>(indexUids: readonly string[] | null, read: () => Promise<T>) => Promise<T>

/** Called with the ids of indexes that a batch has committed to, before its outcome is recorded. Never rejects. */
export type BeforeRecord = (ids: readonly string[]) => Promise<void>

export interface OutgoingChanges {
  /** The oldest kept changes; null if none. @param charsMax, after see `Outbox.page` */
  next(charsMax: number, after: number): Promise<OutgoingPage | null>
  /** See `HoldCommits`; null: all indexes. */
  readonly holdCommits: HoldCommits
  /** Notes that the bucket has the changes up to transaction `last`. @param position their log record */
  sent(last: number, position: number): Promise<void>
  /**
   * Copies the store to a new file at `path`, for a process that starts from it.
   * @returns the last transaction in the copy, and the outbox that numbers it; `next` then returns all changes up to it
   */
  image(path: string): Promise<{ readonly last: number; readonly outbox: string }>
  /** See `OutboxFacts`. */
  facts(): Promise<OutboxFacts>
  /** Makes all writes so far durable, so that `next` returns them. */
  sync(): Promise<void>
  /** Sets a hook that must resolve before the outcome of a batch is recorded; null removes it. */
  beforeRecord(hook: BeforeRecord | null): void
  /** Files of uploaded bodies, which are needed until their tasks end. */
  readonly uploads: Uploads
  /** The last recorded log position, -1 before the first record; null if none, or if the last start kept no changes. */
  position(): Promise<number | null>
}

/** Files of uploaded bodies, by name. */
interface Uploads {
  pathOf(name: string): string
  /** Keeps files even if their tasks end. @returns a function that releases them */
  hold(names: readonly string[]): () => Promise<void>
  /** The files that waiting tasks need. */
  needed(): Promise<readonly NeededUpload[]>
  /** Removes a file that no task needs. */
  discard(name: string): Promise<void>
}

export const outgoingChanges = (
  store: StoreClient,
  spool: Spool,
  { holdCommits, beforeRecord }: Pick<OutgoingChanges, 'holdCommits' | 'beforeRecord'>,
): OutgoingChanges => ({
  next: (charsMax, after) => store.call('changes', [charsMax, after]),
  holdCommits,
  beforeRecord,
  sent: (last, position) => store.call('changesSent', [last, position]),
  async image(path) {
    const image = await store.copyTo(path, 'following', [])
    // `next` only returns synced changes.
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
