import type { ObjectStore } from '../bucket/index.js'
import {
  chooseStore,
  dropPrepared,
  imagePath,
  openReplicaStore,
  prepareStore,
  type ReplicaStore,
  type RowChanges,
  removeStore,
  StoreUnusableError,
} from '../tasks/index.js'
import { type Base, fetchImage } from './base.js'

/** Told that a copy is damaged and is fetched again. */
export type OnDamaged = (error: Error) => void

/**
 * Makes the store of a checkpoint next to the one of a data directory, which may be open meanwhile.
 * @throws BucketError, DamagedPartError
 */
export async function prepareImage(
  base: Base,
  directory: string,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<void> {
  await prepareStore(directory, String(base.seq), async (path) => {
    await fetchImage(base.image.parts, imagePath(path), store, signal)
    const replica = await openReplicaStore(path, 0)
    try {
      await replica.apply({}, base.seq)
    } finally {
      await replica.close()
    }
  })
}

/** The task store of a copy that no process serves. It may become the image of a checkpoint. */
export class Replica {
  readonly #directory: string
  /** null: it is damaged. */
  #store: ReplicaStore | null
  /** The checkpoint whose image it becomes with the next changes; null: it stays. */
  #next: number | null = null

  private constructor(directory: string, store: ReplicaStore | null) {
    this.#directory = directory
    this.#store = store
  }

  static async open(directory: string, onDamaged: OnDamaged): Promise<Replica> {
    try {
      return new Replica(directory, await openReplicaStore(directory))
    } catch (error) {
      if (!(error instanceof StoreUnusableError)) throw error
      onDamaged(error)
      return new Replica(directory, null)
    }
  }

  /** The last log record whose changes it has; -1: none. */
  get position(): number {
    return this.#next ?? this.#store?.position ?? -1
  }

  /** Has the next changes come on top of the image of a checkpoint, which is fetched. The store stays as it is until then. */
  async becomes(base: Base, store: Pick<ObjectStore, 'get'>, signal: AbortSignal): Promise<void> {
    await prepareImage(base, this.#directory, store, signal)
    this.#next = base.seq
  }

  async apply(changes: RowChanges, position: number): Promise<void> {
    const store = await this.#current()
    await store.apply(changes, position)
  }

  /** Uploads that waiting tasks need. */
  uploads: ReplicaStore['uploads'] = async () => (await this.#current()).uploads()

  /** See `ReplicaStore.identify`. */
  identify: ReplicaStore['identify'] = async () => (await this.#current()).identify()

  async close(): Promise<void> {
    await this.#store?.close()
  }

  async #current(): Promise<ReplicaStore> {
    if (this.#store !== null && this.#next === null) return this.#store
    const former = this.#store
    this.#store = null
    await former?.close()
    // A damaged store of a log without checkpoints begins as an empty one.
    if (this.#next === null) await removeStore(this.#directory)
    else await chooseStore(this.#directory, String(this.#next))
    this.#next = null
    this.#store = await openReplicaStore(this.#directory)
    await dropPrepared(this.#directory)
    return this.#store
  }
}
