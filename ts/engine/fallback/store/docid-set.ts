/**
 * A dense bitmap of docids.
 *
 * Dense, because an index has few docids here (one bit each) and every rule combines sets: each step handles a word of
 * 32 documents, without allocations or branches.
 */
export class DocSet {
  readonly words: Uint32Array

  /** @param bound exclusive upper bound of docids */
  constructor(bound: number)
  constructor(words: Uint32Array)
  constructor(source: number | Uint32Array) {
    this.words = typeof source === 'number' ? new Uint32Array((source + 31) >>> 5) : source
  }

  static of(bound: number, docids: Iterable<number>): DocSet {
    const set = new DocSet(bound)
    for (const docid of docids) set.add(docid)
    return set
  }

  has(docid: number): boolean {
    const word = this.words[docid >>> 5]
    return word !== undefined && (word & (1 << (docid & 31))) !== 0
  }

  add(docid: number): void {
    const at = docid >>> 5
    this.words[at] = this.words[at]! | (1 << (docid & 31))
  }

  delete(docid: number): void {
    const at = docid >>> 5
    if (at < this.words.length) this.words[at] = this.words[at]! & ~(1 << (docid & 31))
  }

  clone(): DocSet {
    return new DocSet(this.words.slice())
  }

  /** A copy with room for docids below `bound`. */
  resized(bound: number): DocSet {
    const set = new DocSet(bound)
    set.words.set(this.words.subarray(0, set.words.length))
    return set
  }

  /** Adds all of `other`. */
  union(other: DocSet): this {
    const theirs = other.words
    for (let at = Math.min(this.words.length, theirs.length) - 1; at >= 0; at--)
      this.words[at] = this.words[at]! | theirs[at]!
    return this
  }

  /** Keeps only documents that are also in `other`. */
  intersect(other: DocSet): this {
    const theirs = other.words
    for (let at = this.words.length - 1; at >= 0; at--) this.words[at] = this.words[at]! & (theirs[at] ?? 0)
    return this
  }

  /** Removes all of `other`. */
  subtract(other: DocSet): this {
    const theirs = other.words
    for (let at = Math.min(this.words.length, theirs.length) - 1; at >= 0; at--)
      this.words[at] = this.words[at]! & ~theirs[at]!
    return this
  }

  isEmpty(): boolean {
    for (let at = 0; at < this.words.length; at++) if (this.words[at] !== 0) return false
    return true
  }

  count(): number {
    let total = 0
    for (const word of this.words) if (word !== 0) total += bitCount(word)
    return total
  }

  /** Returns a function that numbers the docids of this set in ascending order, from 0. The set must not change. */
  places(): (docid: number) => number {
    const { words } = this
    const before = new Uint32Array(words.length)
    for (let at = 1; at < words.length; at++) before[at] = before[at - 1]! + bitCount(words[at - 1]!)
    return (docid) => {
      const at = docid >>> 5
      return before[at]! + bitCount(words[at]! & ((1 << (docid & 31)) - 1))
    }
  }

  /** Docids in ascending order. */
  toArray(): Uint32Array {
    const docids = new Uint32Array(this.count())
    let filled = 0
    for (let at = 0; at < this.words.length; at++) {
      let word = this.words[at]!
      while (word !== 0) {
        const bit = 31 - Math.clz32(word & -word)
        docids[filled++] = at * 32 + bit
        word &= word - 1
      }
    }
    return docids
  }
}

function bitCount(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
