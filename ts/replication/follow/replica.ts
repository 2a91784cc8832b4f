import {
  chooseStore,
  dropPrepared,
  openReplicaStore,
  prepareStore,
  type ReplicaStore,
  type RowChanges,
  removeStore,
  replicaStorePath,
  StoreUnusableError,
} from '../../tasks/index.js'
import { type Checkpoint, fetchImage } from '../log/checkpoint.js'
import type { ObjectStore } from '../object-store/index.js'

/** Called when a copy is damaged and fetched again. */
type OnDamaged = (error: Error) => void

/**
 * Prepares the task store of a checkpoint next to the current store of a directory. The current store may be open.
 * @throws BucketError, DamagedPartError
 */
export async function prepareImage(
  checkpoint: Checkpoint,
  directory: string,
  store: Pick<ObjectStore, 'get'>,
  signal: AbortSignal,
): Promise<void> {
  await prepareStore(directory, String(checkpoint.seq), async (path) => {
    await fetchImage(checkpoint.image.parts, replicaStorePath(path), store, signal)
    const replica = await openReplicaStore(path, 0)
    try {
      await replica.apply({}, checkpoint.seq)
    } finally {
      await replica.close()
    }
  })
}

/** The task store of a copy that no process serves. The image of a checkpoint may replace it. */
export interface CopiedStore extends Pick<ReplicaStore, 'apply' | 'uploads' | 'identify' | 'close'> {
  /** The last log record that it has applied; -1: none. */
  readonly position: number
  /** Fetches the image of a checkpoint. It replaces the store when the next changes are applied, not before. */
  becomes(checkpoint: Checkpoint, store: Pick<ObjectStore, 'get'>, signal: AbortSignal): Promise<void>
}

/** @param onDamaged called if the store is damaged; then it is empty */
export type OpenCopiedStore = (directory: string, onDamaged: OnDamaged) => Promise<CopiedStore>

/** A `CopiedStore` in the data directory. */
export class Replica implements CopiedStore {
  readonly #directory: string
  /** null: it is damaged. */
  #store: ReplicaStore | null
  /** The checkpoint whose image replaces the store with the next changes; null: none. */
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

  get position(): number {
    return this.#next ?? this.#store?.position ?? -1
  }

  async becomes(checkpoint: Checkpoint, store: Pick<ObjectStore, 'get'>, signal: AbortSignal): Promise<void> {
    await prepareImage(checkpoint, this.#directory, store, signal)
    this.#next = checkpoint.seq
  }

  async apply(changes: RowChanges, position: number): Promise<void> {
    const store = await this.#current()
    await store.apply(changes, position)
  }

  uploads: ReplicaStore['uploads'] = async () => (await this.#current()).uploads()

  identify: ReplicaStore['identify'] = async () => (await this.#current()).identify()

  async close(): Promise<void> {
    await this.#store?.close()
  }

  async #current(): Promise<ReplicaStore> {
    if (this.#store !== null && this.#next === null) return this.#store
    const former = this.#store
    this.#store = null
    await former?.close()
    // Without checkpoints a damaged store is replaced by an empty one.
    if (this.#next === null) await removeStore(this.#directory)
    else await chooseStore(this.#directory, String(this.#next))
    this.#next = null
    this.#store = await openReplicaStore(this.#directory)
    await dropPrepared(this.#directory)
    return this.#store
  }
}
