/**
 * Stores the vectors of an embedder by docid.
 *
 * Rows are contiguous in one array, so that a scan reads memory sequentially. A replaced row leaves a hole; the array
 * is compacted once most of it is holes.
 */
import { BinaryQuery, norm, Query, quantized } from './distance.js'
import type { Embedder } from './embedder.js'

/** Vectors and flags of a document for an embedder. */
export interface DocumentVectors {
  /** True if its vectors came from the client. */
  readonly userProvided: boolean
  /** True if they are never generated again. */
  readonly skipRegenerate: boolean
  /** Concatenated vectors; empty: none. */
  readonly rows: Float32Array
  /** Fragment number of each vector; null: not made from fragments. */
  readonly fragments: Uint8Array | null
}

/** Vector properties of a document, as used by filters. */
export interface VectorState {
  readonly userProvided: boolean
  readonly skipRegenerate: boolean
  /** Number of vectors. */
  readonly count: number
  readonly fragments: Uint8Array | null
}

interface Entry {
  readonly userProvided: boolean
  readonly skipRegenerate: boolean
  /** First row. */
  readonly row: number
  readonly count: number
  readonly fragments: Uint8Array | null
}

export class VectorSet {
  /** Components per vector; 0 until the first vector arrives. */
  readonly dimensions: number
  private readonly entries: Map<number, Entry>
  private rows = new Float32Array(0)
  private norms = new Float32Array(0)
  private used = 0
  private holes = 0
  /** True if another set reads the same rows. */
  private isShared = false

  constructor(dimensions: number, entries = new Map<number, Entry>()) {
    this.dimensions = dimensions
    this.entries = entries
  }

  /** Bytes of all vectors. */
  get bytes(): number {
    return (this.used - this.holes) * this.dimensions * 4
  }

  get(docid: number): DocumentVectors | undefined {
    const entry = this.entries.get(docid)
    if (entry === undefined) return undefined
    const { userProvided, skipRegenerate, row, count, fragments } = entry
    const rows = this.rows.slice(row * this.dimensions, (row + count) * this.dimensions)
    return { userProvided, skipRegenerate, rows, fragments }
  }

  /** Docids with flags or vectors, in no particular order. */
  docids(): Iterable<number> {
    return this.entries.keys()
  }

  /** Number of vectors of a document. */
  count(docid: number): number {
    return this.entries.get(docid)?.count ?? 0
  }

  *states(): Generator<readonly [docid: number, state: VectorState]> {
    yield* this.entries
  }

  flags(docid: number): Pick<DocumentVectors, 'userProvided' | 'skipRegenerate'> | undefined {
    return this.entries.get(docid)
  }

  put(docid: number, { userProvided, skipRegenerate, rows, fragments }: DocumentVectors): void {
    this.delete(docid)
    if (this.dimensions === 0 && rows.length > 0)
      throw new RangeError('vectors arrived before their dimensions were known')
    const count = rows.length === 0 ? 0 : rows.length / this.dimensions
    const row = this.used
    this.reserve(row + count)
    this.rows.set(rows, row * this.dimensions)
    for (let at = row; at < row + count; at++)
      this.norms[at] = norm(this.rows, at * this.dimensions, this.dimensions)
    this.used += count
    this.entries.set(docid, { userProvided, skipRegenerate, row, count, fragments })
  }

  delete(docid: number): void {
    this.holes += this.entries.get(docid)?.count ?? 0
    this.entries.delete(docid)
    if (this.holes > this.used / 2) this.compact()
  }

  private reserve(rows: number): void {
    if (rows <= this.norms.length) return
    const room = Math.max(rows, Math.ceil(this.norms.length * 1.5))
    const [wider, norms] = [new Float32Array(room * this.dimensions), new Float32Array(room)]
    wider.set(this.rows.subarray(0, this.used * this.dimensions))
    norms.set(this.norms.subarray(0, this.used))
    this.rows = wider
    this.norms = norms
  }

  private compact(): void {
    const { dimensions } = this
    if (this.isShared) {
      this.rows = this.rows.slice()
      this.norms = this.norms.slice()
      this.isShared = false
    }
    let row = 0
    for (const [docid, entry] of [...this.entries].sort(([, a], [, b]) => a.row - b.row)) {
      this.rows.copyWithin(row * dimensions, entry.row * dimensions, (entry.row + entry.count) * dimensions)
      this.norms.copyWithin(row, entry.row, entry.row + entry.count)
      this.entries.set(docid, { ...entry, row })
      row += entry.count
    }
    this.used = row
    this.holes = 0
  }

  /** Smallest distance of each document to `vector`, by index in `docids`; NaN without vectors. */
  distances(docids: Uint32Array, vector: Float32Array, { binary }: Pick<Embedder, 'binary'>): Float32Array {
    const query = binary ? new BinaryQuery(vector) : new Query(vector)
    return Float32Array.from(docids, (docid) => {
      const entry = this.entries.get(docid)
      if (entry === undefined || entry.count === 0) return Number.NaN
      let least = Number.POSITIVE_INFINITY
      for (let row = entry.row; row < entry.row + entry.count; row++)
        least = Math.min(least, query.distance(this.rows, row * this.dimensions, this.norms[row]!))
      return least
    })
  }

  /** Returns a read-only copy of the set that later changes do not affect. */
  held(): VectorSet {
    const set = new VectorSet(this.dimensions, new Map(this.entries))
    set.rows = this.rows
    set.norms = this.norms
    set.used = this.used
    this.isShared = true
    return set
  }

  /** Returns a set with the same flags but without vectors, for vectors of another length. */
  withDimensions(dimensions: number): VectorSet {
    const set = new VectorSet(dimensions)
    for (const [docid, { userProvided, skipRegenerate }] of this.entries)
      set.put(docid, { userProvided, skipRegenerate, rows: new Float32Array(0), fragments: null })
    return set
  }

  /** Returns a set with vectors quantized to one bit per component. */
  quantized(): VectorSet {
    const set = new VectorSet(this.dimensions)
    for (const docid of this.entries.keys()) {
      const known = this.get(docid)!
      set.put(docid, { ...known, rows: quantized(known.rows) })
    }
    return set
  }
}
