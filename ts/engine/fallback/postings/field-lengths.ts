/**
 * Lengths of attributes in stored words, for the ranking rule `relevance`.
 *
 * Derived from the posting lists of one version of an index. A length takes one byte: exact up to 128 words, above that
 * rounded down by at most an eighth.
 */
import { occurrencesEnd, type TermDictionary } from './postings.js'

/** Longest length that is exact. */
const EXACT_MAX = 128
const WORDS_MAX = 65_536

/** The length that each code stands for. */
export const LENGTHS: readonly number[] = lengths()

function lengths(): number[] {
  const found = Array.from({ length: EXACT_MAX + 1 }, (_, words) => words)
  for (let words = EXACT_MAX; words < WORDS_MAX; found.push(words)) words += words >>> 3
  return found
}

/** Code of a length: the largest that stands for at most this many words. */
function lengthCode(words: number): number {
  if (words <= EXACT_MAX) return words
  let code = EXACT_MAX
  while (code + 1 < LENGTHS.length && LENGTHS[code + 1]! <= words) code++
  return code
}

/** Part of the documents above which the lengths of a field are an array instead of a map. */
const DENSE_PART = 1 / 8

type Counts = Map<number, number> | Uint32Array

export class FieldLengths {
  private readonly codes: Map<number, number> | Uint8Array
  /** Mean length of this field in the documents that have it. */
  readonly average: number

  constructor(counts: Counts) {
    let [documents, words] = [0, 0]
    const codeOf = (count: number): number => {
      const code = lengthCode(count)
      if (code > 0) documents++
      words += LENGTHS[code]!
      return code
    }
    this.codes =
      counts instanceof Map
        ? new Map(Array.from(counts, ([docid, count]) => [docid, codeOf(count)]))
        : Uint8Array.from(counts, codeOf)
    this.average = documents === 0 ? 1 : words / documents
  }

  /** Code of the length of this field in a document; 0 without words. */
  code(docid: number): number {
    return (this.codes instanceof Map ? this.codes.get(docid) : this.codes[docid]) ?? 0
  }

  /** Memory, in bytes. */
  get bytes(): number {
    return this.codes instanceof Map ? this.codes.size * 32 : this.codes.byteLength
  }
}

/** Counts the words of every field of every document. @param bound exclusive upper bound of docids */
export function fieldLengths(dictionary: TermDictionary, bound: number): ReadonlyMap<number, FieldLengths> {
  const fields = new Map<number, Counts>()
  const add = (field: number, docid: number, count: number): void => {
    const counts = fields.get(field) ?? new Map<number, number>()
    if (counts instanceof Map) fields.set(field, counts)
    if (!(counts instanceof Map)) counts[docid] = counts[docid]! + count
    else if (counts.size <= bound * DENSE_PART) counts.set(docid, (counts.get(docid) ?? 0) + count)
    else {
      const dense = new Uint32Array(bound)
      for (const [known, words] of counts) dense[known] = words
      dense[docid] = dense[docid]! + count
      fields.set(field, dense)
    }
  }
  for (const term of dictionary.sorted) {
    const list = dictionary.get(term)!
    let at = 1 + 2 * list[0]!
    for (let nth = 0; nth < list[0]!; nth++) {
      const end = occurrencesEnd(list, nth)
      while (at < end) {
        const field = list[at]! >>> 16
        const start = at
        while (at < end && list[at]! >>> 16 === field) at++
        add(field, list[1 + nth]!, at - start)
      }
    }
  }
  return new Map([...fields].map(([field, counts]) => [field, new FieldLengths(counts)]))
}
