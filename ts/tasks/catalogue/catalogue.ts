import type { CatalogueRow } from '../store/records.js'
import type { IndexEntry, IndexesChange } from '../tasks.js'
import { formatDate, type Micros } from '../time.js'

/** In-memory copy of the store's catalogue, because every search looks up an index. It has few rows. */
export class Catalogue {
  readonly #rows = new Map<string, CatalogueRow>()
  readonly #entries = new Map<string, IndexEntry>()
  readonly #listeners: ((change: IndexesChange) => void)[] = []

  constructor(rows: readonly CatalogueRow[]) {
    this.apply([], rows)
  }

  /** Calls `listener` with each change, as soon as lookups see it. */
  onChange(listener: (change: IndexesChange) => void): void {
    this.#listeners.push(listener)
  }

  /** Applies a change that the store has written. */
  apply(removed: readonly string[], written: readonly CatalogueRow[]): void {
    this.#apply(removed, written)
    const entries = written.map(({ uid }) => this.#entries.get(uid)!)
    this.#tell({ isAll: false, removed, written: entries })
  }

  #tell(change: IndexesChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  #apply(removed: readonly string[], written: readonly CatalogueRow[]): void {
    for (const uid of removed) {
      this.#rows.delete(uid)
      this.#entries.delete(uid)
    }
    for (const row of written) {
      this.#rows.set(row.uid, row)
      this.#entries.set(row.uid, {
        uid: row.uid,
        id: row.id,
        primaryKey: row.primaryKey,
        createdAt: formatDate(row.createdAt),
        updatedAt: formatDate(row.updatedAt),
      })
    }
  }

  /** Replaces all rows. */
  replace(rows: readonly CatalogueRow[]): void {
    this.#rows.clear()
    this.#entries.clear()
    this.#apply([], rows)
    this.#tell({ isAll: true, removed: [], written: [...this.#entries.values()] })
  }

  row(uid: string): CatalogueRow | null {
    return this.#rows.get(uid) ?? null
  }

  rows(): readonly CatalogueRow[] {
    return [...this.#rows.values()]
  }

  entry(uid: string): IndexEntry | null {
    return this.#entries.get(uid) ?? null
  }

  /** Ascending by uid, byte by byte. */
  entries(): readonly IndexEntry[] {
    return [...this.#entries.values()].sort((a, b) => (a.uid < b.uid ? -1 : 1))
  }

  lastUpdate(): Micros | null {
    let last: Micros | null = null
    for (const { updatedAt } of this.#rows.values()) last = Math.max(last ?? updatedAt, updatedAt)
    return last
  }
}
