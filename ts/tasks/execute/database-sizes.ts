import type { Engine } from '../../engine/index.js'
import { DATABASE_SIZES_REMEMBERED } from '../limits.js'
import { humanSize } from '../listing/sizes.js'

/** Part of an index → its bytes on disk. */
type Sizes = Readonly<Record<string, number>>

/** By how much did a batch change the sizes of an index on disk? */
export class DatabaseSizes {
  readonly #engine: Engine
  /** Index id → its sizes after its last batch, so that each batch asks the engine once. */
  readonly #known = new Map<string, Sizes>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /**
   * Sizes of an index before a batch, from the cache if they are there.
   * @param id null: the index does not exist yet
   */
  async before(id: string | null): Promise<Sizes> {
    if (id === null) return {}
    return this.#known.get(id) ?? (await this.#measured(id)) ?? {}
  }

  /** Part → size and difference for humans, such as `8 KiB (+4 KiB)`; parts that did not change are left out. */
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

  /** null if the engine fails to tell them, which does not fail the batch. */
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
      // Sizes are only shown. The damage of an index is reported where its documents are read.
      this.#known.delete(id)
      return null
    }
  }
}

const difference = (bytes: number) => `${bytes < 0 ? '-' : '+'}${humanSize(Math.abs(bytes))}`
