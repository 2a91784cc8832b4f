/**
 * Posting lists: documents, fields and positions of each word.
 *
 * A posting list is one flat array, so that a vocabulary of hundreds of thousands of words needs one object per word
 * and none per posting:
 *
 * list  = count, docid × count, end × count, occurrence × end[count − 1]
 * occurrence = field << 16 | position
 *
 * Docids ascend. The occurrences of docid i are those from end[i − 1] (0 for the first) to end[i], ascending. Lists are
 * immutable and only replaced, so readers may keep them.
 */

import { ownText } from '../store/own-text.js'
import { compareUtf8 } from '../store/text-order.js'
import { ListAllocator, separateArrays } from './list-allocator.js'

export type PostingList = Uint32Array

export const EMPTY_LIST: PostingList = new Uint32Array([0])

/** Minimum number of occurrences for lists to share arrays. */
const SHARED_OCCURRENCES_MIN = 256 * 1024

export const documentCount = (list: PostingList): number => list[0]!

/** Offset of the first occurrence of the `nth` document, counted from the start of the list. */
export const occurrencesStart = (list: PostingList, nth: number): number => {
  const count = list[0]!
  return 1 + 2 * count + (nth === 0 ? 0 : list[count + nth]!)
}

/** Offset past the last occurrence of the `nth` document. */
export const occurrencesEnd = (list: PostingList, nth: number): number => {
  const count = list[0]!
  return 1 + 2 * count + list[1 + count + nth]!
}

/** Index of `docid` in a list; -1 if it is missing. */
export function find(list: PostingList, docid: number): number {
  let low = 0
  let high = list[0]!
  while (low < high) {
    const middle = (low + high) >>> 1
    if (list[1 + middle]! < docid) low = middle + 1
    else high = middle
  }
  return low < list[0]! && list[1 + low] === docid ? low : -1
}

/** The term dictionary and the posting lists of one index. */
export class TermDictionary {
  private readonly lists: Map<string, PostingList>
  /** All terms, ordered by their UTF-8 bytes. */
  readonly sorted: readonly string[]

  constructor(lists = new Map<string, PostingList>(), sorted: readonly string[] = []) {
    this.lists = lists
    this.sorted = sorted
  }

  get(term: string): PostingList | undefined {
    return this.lists.get(term)
  }

  /** A copy that later changes do not affect. */
  copy(): TermDictionary {
    return new TermDictionary(new Map(this.lists), this.sorted)
  }

  has(term: string): boolean {
    return this.lists.has(term)
  }

  /** Total length of all lists. */
  get numbers(): number {
    let numbers = 0
    for (const list of this.lists.values()) numbers += list.length
    return numbers
  }

  /** Index of the first term not below `key`. */
  lowerBound(key: string): number {
    let low = 0
    let high = this.sorted.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareUtf8(this.sorted[middle]!, key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Range of the terms that start with `prefix`: first index, and index after the last. */
  prefixRange(prefix: string): readonly [number, number] {
    const first = this.lowerBound(prefix)
    let low = first
    let high = this.sorted.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.sorted[middle]!.startsWith(prefix)) low = middle + 1
      else high = middle
    }
    return [first, low]
  }

  /**
   * Returns this dictionary with some lists replaced and empty lists removed. It takes over the map, so the old
   * dictionary must not be used afterwards.
   */
  replaced(changes: ReadonlyMap<string, PostingList>, sorted: readonly string[]): TermDictionary {
    for (const [term, list] of changes) {
      if (list[0] === 0) this.lists.delete(term)
      else this.lists.set(term, list)
    }
    return new TermDictionary(this.lists, sorted)
  }

  /** The value of `sorted` after `changes` are applied. */
  sortedAfter(changes: ReadonlyMap<string, PostingList>): readonly string[] {
    const added: string[] = []
    let removed = false
    for (const [term, list] of changes) {
      if (list[0] === 0) removed ||= this.lists.has(term)
      else if (!this.lists.has(term)) added.push(term)
    }
    const kept = removed ? this.sorted.filter((term) => changes.get(term)?.[0] !== 0) : this.sorted
    if (added.length === 0) return kept
    added.sort(compareUtf8)
    const merged: string[] = []
    let next = 0
    for (const term of kept) {
      while (next < added.length && compareUtf8(added[next]!, term) < 0) merged.push(added[next++]!)
      merged.push(term)
    }
    while (next < added.length) merged.push(added[next++]!)
    return merged
  }
}

/** Collects occurrences of changed documents and turns them into new posting lists. */
export class PostingWriter {
  private readonly termIds = new Map<string, number>()
  private readonly terms: string[] = []
  private termOf = new Uint32Array(1024)
  private docOf = new Uint32Array(1024)
  private occurrenceOf = new Uint32Array(1024)
  private filled = 0

  /** Documents must be added in ascending docid order; occurrences of a document in any order. */
  add(term: string, docid: number, field: number, position: number): void {
    if (this.filled === this.termOf.length) this.grow()
    this.termOf[this.filled] = this.termId(term)
    this.docOf[this.filled] = docid
    this.occurrenceOf[this.filled] = field * 0x10000 + position
    this.filled++
  }

  /** Marks a term with removed documents, so that its list is rewritten. */
  touch(term: string): void {
    this.termId(term)
  }

  private termId(term: string): number {
    let id = this.termIds.get(term)
    if (id === undefined) {
      id = this.terms.length
      const own = ownText(term)
      this.terms.push(own)
      this.termIds.set(own, id)
    }
    return id
  }

  private grow(): void {
    const size = this.termOf.length * 2
    this.termOf = enlarged(this.termOf, size)
    this.docOf = enlarged(this.docOf, size)
    this.occurrenceOf = enlarged(this.occurrenceOf, size)
  }

  /**
   * Yields the new list of every touched term: the list in `base` without the documents of `removed`, plus additions. A
   * generator, so that a long merge can be interrupted between terms. The writer is empty afterwards.
   */
  *lists(base: TermDictionary, removed: { has(docid: number): boolean }): Generator<[string, PostingList]> {
    const starts = new Uint32Array(this.terms.length + 1)
    for (let at = 0; at < this.filled; at++) starts[this.termOf[at]! + 1]!++
    for (let term = 0; term < this.terms.length; term++) starts[term + 1]! += starts[term]!
    const next = starts.slice()
    const docs = new Uint32Array(this.filled)
    const occurrences = new Uint32Array(this.filled)
    for (let at = 0; at < this.filled; at++) {
      const slot = next[this.termOf[at]!]!++
      docs[slot] = this.docOf[at]!
      occurrences[slot] = this.occurrenceOf[at]!
    }
    this.termOf = this.docOf = this.occurrenceOf = new Uint32Array(0)
    // Lists of a batch that outweighs all earlier data share arrays; other batches replace scattered lists.
    const isShared = this.filled >= SHARED_OCCURRENCES_MIN && this.filled >= base.numbers
    const allocator = isShared ? new ListAllocator() : separateArrays
    this.filled = 0
    for (let term = 0; term < this.terms.length; term++) {
      const [from, to] = [starts[term]!, starts[term + 1]!]
      const text = this.terms[term]!
      yield [
        text,
        mergedList(
          base.get(text) ?? EMPTY_LIST,
          removed,
          docs.subarray(from, to),
          occurrences.subarray(from, to),
          allocator,
        ),
      ]
    }
  }
}

function enlarged(array: Uint32Array<ArrayBuffer>, size: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(size)
  larger.set(array)
  return larger
}

/** Copies unchanged documents in runs, so that changing a document is cheap even for the most common words. */
function mergedList(
  old: PostingList,
  removed: { has(docid: number): boolean },
  docs: Uint32Array,
  occurrences: Uint32Array,
  allocator: Pick<ListAllocator, 'allocate'>,
): PostingList {
  const oldCount = old[0]!
  let count = 0
  let size = occurrences.length
  for (let nth = 0; nth < oldCount; nth++) {
    if (removed.has(old[1 + nth]!)) continue
    count++
    size += occurrencesEnd(old, nth) - occurrencesStart(old, nth)
  }
  for (let at = 0; at < docs.length; at++) if (at === 0 || docs[at] !== docs[at - 1]) count++
  const list = allocator.allocate(1 + 2 * count + size)
  list[0] = count
  const base = 1 + 2 * count
  let filled = 0
  let end = 0

  const copyRun = (from: number, to: number): void => {
    if (from === to) return
    const [first, last] = [occurrencesStart(old, from), occurrencesEnd(old, to - 1)]
    list.set(old.subarray(1 + from, 1 + to), 1 + filled)
    list.set(old.subarray(first, last), base + end)
    const before = first - (1 + 2 * oldCount)
    for (let nth = from; nth < to; nth++) list[1 + count + filled++] = old[1 + oldCount + nth]! - before + end
    end += last - first
  }
  let next = 0
  const addNew = (): void => {
    const docid = docs[next]!
    const start = base + end
    while (next < docs.length && docs[next] === docid) list[base + end++] = occurrences[next++]!
    list.subarray(start, base + end).sort()
    list[1 + filled] = docid
    list[1 + count + filled++] = end
  }

  let run = 0
  for (let nth = 0; nth < oldCount; nth++) {
    const docid = old[1 + nth]!
    while (next < docs.length && docs[next]! < docid) {
      copyRun(run, nth)
      run = nth
      addNew()
    }
    if (removed.has(docid)) {
      copyRun(run, nth)
      run = nth + 1
    }
  }
  copyRun(run, oldCount)
  while (next < docs.length) addNew()
  return list
}
