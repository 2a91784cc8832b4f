import type { BucketError, ObjectStore } from '../replication/index.js'
import { PLACEMENT_BYTES_MAX } from './limits.js'
import { DamagedPlacementError, emptyPlacement, type Placement, readPlacement } from './placement.js'

/**
 * The versions of the placement in a bucket, each an object `placement/<version>`. Each is created only if its number is
 * free, so that of two changes at once one fails. The highest counts. None is deleted: a deleted one could be created again.
 */
export class PlacementStore {
  readonly #store: ObjectStore

  constructor(store: ObjectStore) {
    this.#store = store
  }

  /** Description for messages. */
  get name(): string {
    return this.#store.name
  }

  /** Returns the newest version. @param known a version that was read before @throws BucketError, DamagedPlacementError */
  async newest(known: Placement = emptyPlacement, signal?: AbortSignal): Promise<Placement> {
    let newest = known.version
    const options = { after: keyOf(known.version), ...(signal && { signal }) }
    for await (const { key } of this.#store.list(PREFIX, options)) newest = Math.max(newest, versionIn(key))
    return newest === known.version ? known : ((await this.#read(newest, signal)) ?? known)
  }

  /**
   * Returns the newest version. Costs one read if it is the known one. A damaged version before the newest is skipped.
   * @throws BucketError, DamagedPlacementError
   */
  async later(known: Placement, signal?: AbortSignal): Promise<Placement> {
    const next = await this.#read(known.version + 1, signal).catch((error: unknown) => {
      // Not by its class: a start without a bucket would load the client of buckets.
      const isDamaged = (error as Partial<BucketError>).kind === 'malformed'
      if (isDamaged || error instanceof DamagedPlacementError) return 'damaged' as const
      throw error
    })
    if (next === null) return known
    return this.newest(next === 'damaged' ? known : next, signal)
  }

  /** Stores the version after the newest. @returns false: another change was faster @throws BucketError */
  async add(placement: Placement): Promise<boolean> {
    const body = Buffer.from(JSON.stringify(placement))
    if (body.length > PLACEMENT_BYTES_MAX)
      throw new DamagedPlacementError(`a placement has at most ${PLACEMENT_BYTES_MAX} bytes`)
    return (await this.#store.create(keyOf(placement.version), body)) === 'created'
  }

  async #read(version: number, signal?: AbortSignal): Promise<Placement | null> {
    const key = keyOf(version)
    const bytes = await this.#store.get(key, { bytesMax: PLACEMENT_BYTES_MAX, signal })
    if (bytes === null) return null
    const placement = readPlacement(bytes.toString(), key)
    if (placement.version !== version) throw new DamagedPlacementError(`${key}: it has another version`)
    return placement
  }
}

const PREFIX = 'placement/'

const keyOf = (version: number): string => `${PREFIX}${String(version).padStart(12, '0')}`

/** Returns 0 for an object that is no version. */
const versionIn = (key: string): number => (/^placement\/\d{12}$/.test(key) ? Number(key.slice(-12)) : 0)
