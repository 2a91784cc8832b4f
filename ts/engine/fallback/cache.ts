/**
 * Caches values that are expensive to compute.
 *
 * All indexes share the cache and its byte limit. An entry belongs to an owner, usually a version of an index, and is
 * found by owner, kind and key, so an entry is never returned for another owner.
 */
import { LRUCache } from 'lru-cache'
import type { CachedKind, CacheFigures } from '../engine.js'
import type { Tokenizer } from './analysis/tokenize.js'
import type { Endings } from './postings/endings.js'
import type { FieldLengths } from './postings/field-lengths.js'
import type { PostingList } from './postings/postings.js'
import type { StemmedWords } from './postings/stems.js'
import type { ChineseWords } from './query/pinyin.js'
import type { Synonyms } from './query/synonyms.js'
import type { Misspellings } from './query/typos.js'
import type { DocSet } from './store/docid-set.js'

/** Cached values by kind. The cache owns its values: copy a value before changing it. */
interface CachedValues {
  /** Prefix → occurrences of all words that start with it. */
  readonly completions: PostingList
  /** Words, joined by zero characters → occurrences of all of them. */
  readonly unions: PostingList
  /** Budget, unfinished (1) or not (0) and a word → words within that many typos. */
  readonly misspellings: Misspellings
  /** Word → its best split into two words, null for none. */
  readonly splits: readonly [string, string] | null
  /** Unfinished (1) or not (0) and a word → the best two words that are read as its halves, null for none. */
  readonly halves: readonly [string, string] | null
  /** Filter as JSON → the matching documents. */
  readonly filters: DocSet
  /** The synonyms of the settings, under the empty key. */
  readonly synonyms: Synonyms
  /** Lengths of all fields, under the empty key. */
  readonly lengths: ReadonlyMap<number, FieldLengths>
  /** Code of a language → words by their stems. */
  readonly stems: StemmedWords
  /** The only key is empty: words by their ends. */
  readonly endings: Endings
  /** The only key is empty: Chinese words by their first characters. */
  readonly chinese: ChineseWords
  /** Tokenizer of highlighted text, under the empty key. */
  readonly tokenizers: Tokenizer
}

type Kind = keyof CachedValues

const CHAR_BYTES = 2
/** Bytes of a string without its characters, or of an item of a list or map. */
const STRING_BYTES = 24
/** Bytes of two numbers in a map. */
const RANGE_BYTES = 100
/** Bytes of an entry in addition to its key and its value. */
const ENTRY_BYTES = 256

const stringBytes = (text: string): number => STRING_BYTES + CHAR_BYTES * text.length

/** Size of a value of each kind, in bytes. */
const bytesOf: { readonly [K in Kind]: (value: CachedValues[K]) => number } = {
  completions: (list) => list.byteLength,
  unions: (list) => list.byteLength,
  // The words are those of the dictionary.
  misspellings: ({ oneTypo, twoTypos }) => STRING_BYTES * (oneTypo.length + twoTypos.length),
  splits: (words) => (words === null ? 0 : stringBytes(words[0]) + stringBytes(words[1])),
  halves: (words) => (words === null ? 0 : stringBytes(words[0]) + stringBytes(words[1])),
  filters: ({ words }) => words.byteLength,
  synonyms(synonyms) {
    let bytes = 0
    for (const [name, phrases] of synonyms) {
      bytes += stringBytes(name)
      for (const phrase of phrases) for (const word of phrase) bytes += stringBytes(word ?? '')
    }
    return bytes
  },
  lengths: (fields) => [...fields.values()].reduce((sum, { bytes }) => sum + bytes, 0),
  stems(stems) {
    let bytes = 0
    for (const [stem, words] of stems) bytes += stringBytes(stem) + STRING_BYTES * words.length
    return bytes
  },
  endings: (words) => words.reduce((sum, word) => sum + stringBytes(word), 0),
  chinese: ({ ranges }) => ranges.size * RANGE_BYTES,
  tokenizers: ({ bytes }) => bytes,
}

const kinds = Object.keys(bytesOf) as readonly Kind[]

interface Entry {
  readonly kind: Kind
  readonly key: string
  readonly value: CachedValues[Kind]
  readonly bytes: number
  /** The entries of its owner and kind. */
  readonly siblings: Map<string, Entry>
}

type Counts = { -readonly [F in Exclude<keyof CachedKind, 'kind'>]: number }

export class Cache {
  private readonly bytesMax: number
  /** Entries in LRU order; null if the cache is disabled. */
  private readonly entries: LRUCache<Entry, true> | null
  private readonly owners = new WeakMap<object, Map<Kind, Map<string, Entry>>>()
  private readonly counts = new Map<Kind, Counts>(
    kinds.map((kind) => [kind, { hits: 0, misses: 0, entries: 0, bytes: 0 }]),
  )

  /** @param bytesMax of all entries; 0 caches nothing */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
    this.entries =
      bytesMax <= 0
        ? null
        : new LRUCache<Entry, true>({
            maxSize: bytesMax,
            sizeCalculation: (_, { bytes }) => bytes,
            dispose: (_, entry) => this.onRemoved(entry),
          })
  }

  /** Returns the value of an owner under `key`, computed on a miss. */
  get<K extends Kind>(owner: object, kind: K, key: string, make: () => CachedValues[K]): CachedValues[K] {
    const counts = this.counts.get(kind)!
    const siblings = this.siblings(owner, kind)
    const known = siblings.get(key)
    if (known !== undefined) {
      counts.hits += 1
      this.entries?.get(known)
      // Each map holds entries of a single kind.
      return known.value as CachedValues[K]
    }
    counts.misses += 1
    const value = make()
    const bytes = ENTRY_BYTES + CHAR_BYTES * key.length + bytesOf[kind](value)
    if (this.entries === null || bytes > this.bytesMax) return value
    const entry: Entry = { kind, key, value, bytes, siblings }
    counts.entries += 1
    counts.bytes += bytes
    siblings.set(key, entry)
    this.entries.set(entry, true)
    return value
  }

  /** Removes the entries of an owner that is no longer used. */
  drop(owner: object): void {
    const byKind = this.owners.get(owner)
    for (const siblings of byKind?.values() ?? [])
      for (const entry of siblings.values()) this.entries?.delete(entry)
  }

  figures(): CacheFigures {
    return {
      bytesMax: this.bytesMax,
      kinds: [...this.counts].map(([kind, counts]) => ({ kind, ...counts })),
    }
  }

  private siblings(owner: object, kind: Kind): Map<string, Entry> {
    const byKind = this.owners.get(owner) ?? new Map<Kind, Map<string, Entry>>()
    this.owners.set(owner, byKind)
    const siblings = byKind.get(kind) ?? new Map<string, Entry>()
    byKind.set(kind, siblings)
    return siblings
  }

  private onRemoved(entry: Entry): void {
    const counts = this.counts.get(entry.kind)!
    counts.entries -= 1
    counts.bytes -= entry.bytes
    entry.siblings.delete(entry.key)
  }
}

/** The part of a cache that belongs to one owner. */
export class OwnedCache {
  private readonly cache: Cache

  constructor(cache: Cache) {
    this.cache = cache
  }

  get<K extends Kind>(kind: K, key: string, make: () => CachedValues[K]): CachedValues[K] {
    return this.cache.get(this, kind, key, make)
  }

  /** Removes all entries of this owner. */
  drop(): void {
    this.cache.drop(this)
  }
}
