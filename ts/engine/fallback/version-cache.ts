/** What was worked out for one version of an index, and is worth keeping until the next commit. */

import type { PostingList } from './postings/postings.js'
import type { DocSet } from './store/docid-set.js'

const COMPLETIONS_MAX = 256
const SPLITS_MAX = 4096
const FILTERS_MAX = 256
/** Longer filters are worked out anew: 256 of a megabyte each would fill the memory with their texts alone. */
const FILTER_CHARS_MAX = 65_536

/** A map that forgets what was put in first. */
class Bounded<V> {
  private readonly values = new Map<string, V>()
  private readonly most: number

  constructor(most: number) {
    this.most = most
  }

  get(key: string, make: () => V): V {
    const known = this.values.get(key)
    if (known !== undefined || this.values.has(key)) return known as V
    const made = make()
    if (this.values.size >= this.most) this.values.delete(this.values.keys().next().value!)
    this.values.set(key, made)
    return made
  }
}

export class VersionCache {
  readonly version: number
  private readonly completionLists = new Bounded<PostingList>(COMPLETIONS_MAX)
  private readonly splits = new Bounded<readonly [string, string] | null>(SPLITS_MAX)
  private readonly filters = new Bounded<DocSet>(FILTERS_MAX)

  private readonly single = new Map<string, unknown>()

  constructor(version: number) {
    this.version = version
  }

  /** Something there is one of per version; `name` stands for its type. */
  once<T>(name: string, make: () => T): T {
    if (!this.single.has(name)) this.single.set(name, make())
    return this.single.get(name) as T
  }

  completions(prefix: string, make: () => PostingList): PostingList {
    return this.completionLists.get(prefix, make)
  }

  split(word: string, make: () => readonly [string, string] | null): readonly [string, string] | null {
    return this.splits.get(word, make)
  }

  /** The set belongs to the cache: copy it before changing it. */
  filter(key: string, make: () => DocSet): DocSet {
    return key.length > FILTER_CHARS_MAX ? make() : this.filters.get(key, make)
  }
}
