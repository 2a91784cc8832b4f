/** Uids per chunk of a set. A chunk is 8 KiB as a bitmap. Source: the containers of roaring bitmaps. */
export const CHUNK_UIDS = 65_536
const CHUNK_WORDS = CHUNK_UIDS / 32
const CHUNK_BYTES = CHUNK_UIDS / 8

/** A chunk with fewer members is stored as a list, otherwise as a bitmap. At this number both have the same size. */
const LISTED_MAX = CHUNK_UIDS / 16

/** A chunk as a bitmap. */
type Chunk = Uint32Array

const emptyChunk = (): Chunk => new Uint32Array(CHUNK_WORDS)

/** Number of members of a chunk. */
function countOf(chunk: Chunk): number {
  let count = 0
  for (let word of chunk) {
    // Sums the bits in pairs, nibbles and bytes. Source: Hacker's Delight, section 5-1.
    word -= (word >>> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >>> 2) & 0x33333333)
    count += Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return count
}

/**
 * A stored chunk: an ascending list of 16-bit numbers, or a bitmap of 8 KiB. Both are little endian, as are all
 * supported machines.
 */
interface StoredChunk {
  readonly bytes: Uint8Array
  /** Number of members. */
  readonly count: number
}

/**
 * Adds and removes members of a stored chunk. Returns null if nothing changes.
 * @param stored null: the chunk is not stored yet
 * @param edits offset → true to add it, false to remove it
 */
export function edited(stored: Uint8Array | null, edits: ReadonlyMap<number, boolean>): StoredChunk | null {
  const bytes = stored ?? new Uint8Array()
  const isList = bytes.length < CHUNK_BYTES
  return isList && bytes.length / 2 + edits.size < LISTED_MAX
    ? editedList(listOf(bytes), edits)
    : editedBits(bytes, edits)
}

/** Edits a short list without decoding it to a bitmap, which would take much longer. Most chunks are short lists. */
function editedList(list: Uint16Array, edits: ReadonlyMap<number, boolean>): StoredChunk | null {
  const changed = new Uint16Array(list.length + edits.size)
  changed.set(list)
  let count = list.length
  let isChanged = false
  for (const [offset, isMember] of edits) {
    const at = lowerBound(offset, changed, count)
    if ((at < count && changed[at] === offset) === isMember) continue
    isChanged = true
    if (isMember) {
      changed.copyWithin(at + 1, at, count++)
      changed[at] = offset
    } else changed.copyWithin(at, at + 1, count--)
  }
  return isChanged ? { bytes: new Uint8Array(changed.slice(0, count).buffer), count } : null
}

/** Returns the position of the first number not below `offset` among the first `count` of an ascending list. */
function lowerBound(offset: number, list: Uint16Array, count: number): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[middle] ?? 0) < offset) low = middle + 1
    else high = middle
  }
  return low
}

function editedBits(bytes: Uint8Array, edits: ReadonlyMap<number, boolean>): StoredChunk | null {
  const chunk = emptyChunk()
  decodeInto(chunk, bytes)
  let isChanged = false
  for (const [offset, isMember] of edits) {
    if (hasBit(chunk, offset) === isMember) continue
    isChanged = true
    if (isMember) setBit(chunk, offset)
    else clearBit(chunk, offset)
  }
  if (!isChanged) return null
  const count = countOf(chunk)
  if (count >= LISTED_MAX) return { bytes: new Uint8Array(chunk.buffer), count }
  return { bytes: new Uint8Array(Uint16Array.from(offsetsIn(chunk)).buffer), count }
}

/** Copies bytes that are not aligned, as drivers may return. */
const aligned = (bytes: Uint8Array): Uint8Array => (bytes.byteOffset % 4 === 0 ? bytes : bytes.slice())

function listOf(bytes: Uint8Array): Uint16Array {
  const { buffer, byteOffset } = aligned(bytes)
  return new Uint16Array(buffer, byteOffset, bytes.length / 2)
}

/** Adds the members of a stored chunk to a bitmap. */
function decodeInto(chunk: Chunk, bytes: Uint8Array): void {
  if (bytes.length < CHUNK_BYTES) {
    const list = listOf(bytes)
    // An index loop takes half the time of an iterator.
    for (let at = 0; at < list.length; at++) setBit(chunk, list[at] ?? 0)
  } else {
    const { buffer, byteOffset } = aligned(bytes)
    const words = new Uint32Array(buffer, byteOffset, CHUNK_WORDS)
    for (let word = 0; word < CHUNK_WORDS; word++) chunk[word] = (chunk[word] ?? 0) | (words[word] ?? 0)
  }
}

const hasBit = (chunk: Chunk, offset: number): boolean =>
  ((chunk[offset >>> 5] ?? 0) & (1 << (offset & 31))) !== 0

function setBit(chunk: Chunk, offset: number): void {
  chunk[offset >>> 5] = (chunk[offset >>> 5] ?? 0) | (1 << (offset & 31))
}

function clearBit(chunk: Chunk, offset: number): void {
  chunk[offset >>> 5] = (chunk[offset >>> 5] ?? 0) & ~(1 << (offset & 31))
}

function clearRange(chunk: Chunk, from: number, to: number): void {
  let offset = from
  while (offset < to) {
    if (offset % 32 === 0 && offset + 32 <= to) {
      chunk[offset >>> 5] = 0
      offset += 32
    } else clearBit(chunk, offset++)
  }
}

function* offsetsIn(chunk: Chunk): Generator<number> {
  for (let at = 0; at < CHUNK_WORDS; at++) {
    for (let left = chunk[at] ?? 0; left !== 0; left &= left - 1)
      yield at * 32 + 31 - Math.clz32(left & -left)
  }
}

function* offsetsDown(chunk: Chunk): Generator<number> {
  for (let at = CHUNK_WORDS - 1; at >= 0; at--) {
    for (let left = chunk[at] ?? 0; left !== 0; ) {
      const bit = 31 - Math.clz32(left)
      yield at * 32 + bit
      left &= ~(1 << bit)
    }
  }
}

/** A set of uids of tasks or batches. Methods that change a set return it. */
export class UidSet {
  readonly #chunks = new Map<number, Chunk>()

  static of(uids: Iterable<number>): UidSet {
    const set = new UidSet()
    for (const uid of uids) set.add(uid)
    return set
  }

  add(uid: number): void {
    setBit(this.#chunk(Math.floor(uid / CHUNK_UIDS)), uid % CHUNK_UIDS)
  }

  delete(uid: number): void {
    const chunk = this.#chunks.get(Math.floor(uid / CHUNK_UIDS))
    if (chunk !== undefined) clearBit(chunk, uid % CHUNK_UIDS)
  }

  /** Adds the members of stored chunk number `at`. */
  addStored(at: number, bytes: Uint8Array): void {
    decodeInto(this.#chunk(at), bytes)
  }

  /** Adds the members of `other`, which must not be used afterwards. */
  unite(other: UidSet): this {
    for (const [at, members] of other.#chunks) {
      const known = this.#chunks.get(at)
      if (known === undefined) this.#chunks.set(at, members)
      else
        for (let word = 0; word < CHUNK_WORDS; word++) known[word] = (known[word] ?? 0) | (members[word] ?? 0)
    }
    return this
  }

  intersect(other: UidSet): this {
    for (const [at, members] of this.#chunks) {
      const others = other.#chunks.get(at)
      if (others === undefined) this.#chunks.delete(at)
      else
        for (let word = 0; word < CHUNK_WORDS; word++)
          members[word] = (members[word] ?? 0) & (others[word] ?? 0)
    }
    return this
  }

  /** Keeps uids from `from` (inclusive) to `to` (exclusive). */
  clip(from: number, to: number): this {
    for (const [at, members] of this.#chunks) {
      const first = at * CHUNK_UIDS
      if (first + CHUNK_UIDS <= from || first >= to) this.#chunks.delete(at)
      else {
        if (first < from) clearRange(members, 0, from - first)
        if (first + CHUNK_UIDS > to) clearRange(members, to - first, CHUNK_UIDS)
      }
    }
    return this
  }

  has(uid: number): boolean {
    const chunk = this.#chunks.get(Math.floor(uid / CHUNK_UIDS))
    return chunk !== undefined && hasBit(chunk, uid % CHUNK_UIDS)
  }

  get size(): number {
    let size = 0
    for (const chunk of this.#chunks.values()) size += countOf(chunk)
    return size
  }

  /** All uids, ascending. */
  uids(): readonly number[] {
    return this.page({ from: null, reverse: true, limit: Number.POSITIVE_INFINITY })
  }

  /**
   * Returns the first `limit` uids, descending, or ascending if `reverse`.
   * @param from where to start: this uid or the next member; null: the first member
   */
  page({
    from,
    reverse,
    limit,
  }: {
    from: number | null
    reverse: boolean
    limit: number
  }): readonly number[] {
    const found: number[] = []
    const chunks = [...this.#chunks].sort(([a], [b]) => (reverse ? a - b : b - a))
    for (const [at, members] of chunks) {
      if (found.length >= limit) break
      const first = at * CHUNK_UIDS
      if (from !== null && (reverse ? first + CHUNK_UIDS <= from : first > from)) continue
      const offsets = reverse ? offsetsIn(members) : offsetsDown(members)
      for (const offset of offsets) {
        if (found.length >= limit) break
        const uid = first + offset
        if (from === null || (reverse ? uid >= from : uid <= from)) found.push(uid)
      }
    }
    return found
  }

  #chunk(at: number): Chunk {
    const known = this.#chunks.get(at)
    if (known !== undefined) return known
    const chunk = emptyChunk()
    this.#chunks.set(at, chunk)
    return chunk
  }
}
