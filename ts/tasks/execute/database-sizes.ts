import type { Engine } from '../../engine/index.js'
import { DATABASE_SIZES_REMEMBERED } from '../limits.js'
import { humanSize } from '../listing/sizes.js'

/** Bytes on disk of each part of an index. */
type Sizes = Readonly<Record<string, number>>

/** Tracks how each batch changes the size of an index on disk. */
export class DatabaseSizes {
  readonly #engine: Engine
  /** Index id → sizes after its last batch. Saves one engine call per batch. */
  readonly #known = new Map<string, Sizes>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /**
   * Returns the sizes of an index before a batch, from the cache if present.
   * @param id null: the index does not exist yet
   */
  async before(id: string | null): Promise<Sizes> {
    if (id === null) return {}
    return this.#known.get(id) ?? (await this.#measured(id)) ?? {}
  }

  /** Returns part → size and difference for humans, such as `8 KiB (+4 KiB)`. Omits parts that did not change. */
  async changes(id: string, before: Sizes): Promise<Readonly<Record<string, string>>> {
    const after = await this.#measured(id)
    if (after === null) return {}
    const changed = Object.entries(after).filter(([part, bytes]) => bytes !== (before[part] ?? 0))
    return Object.fromEntries(
      changed.map(([part, bytes]) => [
        part,
        `${humanSize(bytes)} (${difference(bytes - (before[part] ?? 0))})`,
      ]),
    )
  }

  /** Returns null if the engine cannot report the sizes. This does not fail the batch. */
  async #measured(id: string): Promise<Sizes | null> {
    try {
      const { rawDocumentDbSize, indexSize } = await this.#engine.sizes(id)
      const sizes = { documents: rawDocumentDbSize, index: Math.max(0, indexSize - rawDocumentDbSize) }
      this.#known.delete(id)
      this.#known.set(id, sizes)
      const [oldest] = this.#known.keys()
      if (this.#known.size > DATABASE_SIZES_REMEMBERED && oldest !== undefined) this.#known.delete(oldest)
      return sizes
    } catch {
      // Sizes are informational. Damage of an index is reported when its documents are read.
      this.#known.delete(id)
      return null
    }
  }
}

const difference = (bytes: number) => `${bytes < 0 ? '-' : '+'}${humanSize(Math.abs(bytes))}`
