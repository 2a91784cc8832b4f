/**
 * Which vectors does a document have? All of one embedder, by docid.
 *
 * Rows lie one after another in one array, so that a scan runs through memory once. A row that was replaced
 * leaves a hole; holes are closed once they are most of the array.
 */
import { BinaryQuery, norm, Query, quantized } from './distance.js'
import type { Embedder } from './embedder.js'

/** What is known of one document under one embedder. */
export interface DocumentVectors {
  /** Its vectors came from the client. */
  readonly userProvided: boolean
  /** They are never made anew. */
  readonly skipRegenerate: boolean
  /** One vector after another; empty: none. */
  readonly rows: Float32Array
  /** The number of the fragment each vector was made from; null: they were not made from fragments. */
  readonly fragments: Uint8Array | null
}

/** What filters ask of a document. */
export interface VectorState {
  readonly userProvided: boolean
  readonly skipRegenerate: boolean
  /** Vectors it has. */
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
  /** Components of a vector; 0 until the first vector arrives. */
  readonly dimensions: number
  private readonly entries: Map<number, Entry>
  private rows = new Float32Array(0)
  private norms = new Float32Array(0)
  private used = 0
  private holes = 0
  /** Whether another set reads the same rows. */
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

  /** Docids with flags or vectors, in no order. */
  docids(): Iterable<number> {
    return this.entries.keys()
  }

  /** Vectors of a document. */
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
      throw new RangeError('vectors came before their number of components was known')
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
    if (this.holes > this.used / 2) this.closeHoles()
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

  private closeHoles(): void {
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

  /** The least distance of each document's vectors to `vector`, by position in `docids`; NaN without any. */
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

  /** The set as it is now, which later changes of this one do not reach. It is for reading alone. */
  held(): VectorSet {
    const set = new VectorSet(this.dimensions, new Map(this.entries))
    set.rows = this.rows
    set.norms = this.norms
    set.used = this.used
    this.isShared = true
    return set
  }

  /** The same flags without vectors, for vectors of another length. */
  withDimensions(dimensions: number): VectorSet {
    const set = new VectorSet(dimensions)
    for (const [docid, { userProvided, skipRegenerate }] of this.entries)
      set.put(docid, { userProvided, skipRegenerate, rows: new Float32Array(0), fragments: null })
    return set
  }

  /** The same documents with one bit per component. */
  quantized(): VectorSet {
    const set = new VectorSet(this.dimensions)
    for (const docid of this.entries.keys()) {
      const known = this.get(docid)!
      set.put(docid, { ...known, rows: quantized(known.rows) })
    }
    return set
  }
}
