/**
 * Here is something that was worked out before: is it still there?
 *
 * One cache serves all indexes of the engine's thread, within one bound of bytes. An entry belongs to an owner, as a rule
 * a version of an index, and is found by that owner, its kind and a key, so that it never answers for another one.
 */
import { LRUCache } from 'lru-cache'
import type { CachedKind, CacheFigures } from '../engine.js'
import type { Tokenizer } from './analysis/tokenize.js'
import type { PostingList } from './postings/postings.js'
import type { Synonyms } from './query/synonyms.js'
import type { DocSet } from './store/docid-set.js'

/** What is cached, by kind. A value belongs to the cache: it is copied before it is changed. */
interface CachedValues {
  /** Word → occurrences of all words that begin with it. */
  readonly completions: PostingList
  /** Word → the two words it is best cut into, null for none. */
  readonly splits: readonly [string, string] | null
  /** Filter as JSON → the documents that pass. */
  readonly filters: DocSet
  /** The synonyms of the settings, under the empty key. */
  readonly synonyms: Synonyms
  /** What cuts texts that are highlighted, under the empty key. */
  readonly tokenizers: Tokenizer
}

type Kind = keyof CachedValues

const CHAR_BYTES = 2
/** A string without its characters, or its place in a list or a map. */
const STRING_BYTES = 24
/** What an entry takes beside its key and its value. */
const ENTRY_BYTES = 256

const stringBytes = (text: string): number => STRING_BYTES + CHAR_BYTES * text.length

/** Bytes that a value of a kind takes. */
const bytesOf: { readonly [K in Kind]: (value: CachedValues[K]) => number } = {
  completions: (list) => list.byteLength,
  splits: (words) => (words === null ? 0 : stringBytes(words[0]) + stringBytes(words[1])),
  filters: ({ words }) => words.byteLength,
  synonyms(synonyms) {
    let bytes = 0
    for (const [name, phrases] of synonyms) {
      bytes += stringBytes(name)
      for (const phrase of phrases) for (const word of phrase) bytes += stringBytes(word ?? '')
    }
    return bytes
  },
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
  /** Entries, those asked for longest ago first; null if none are to be cached. */
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
            dispose: (_, entry) => this.forgotten(entry),
          })
  }

  /** The value of an owner under `key`, made now if it is not there. */
  get<K extends Kind>(owner: object, kind: K, key: string, make: () => CachedValues[K]): CachedValues[K] {
    const counts = this.counts.get(kind)!
    const siblings = this.siblings(owner, kind)
    const known = siblings.get(key)
    if (known !== undefined) {
      counts.hits += 1
      this.entries?.get(known)
      // Maps hold entries of their own kind alone.
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

  /** Removes the entries of an owner that will not be asked for again. */
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

  private forgotten(entry: Entry): void {
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

  /** Removes what it holds. */
  drop(): void {
    this.cache.drop(this)
  }
}
