/**
 * Finds the other forms of words: words of the index with the same stem.
 *
 * Words are mapped by their stems once per version of the index and language.
 */
import type { Stemmer } from '../analysis/stemmer.js'
import type { OwnedCache } from '../cache.js'
import type { TermDictionary } from '../postings/postings.js'
import { stemmed } from '../postings/stems.js'
import { compareUtf8 } from '../store/text-order.js'

/** Which forms to look for. */
export interface FormsWanted {
  readonly max: number
  readonly accepts: (word: string) => boolean
}

export class Forms {
  private readonly dictionary: TermDictionary
  private readonly cache: OwnedCache
  readonly stemmers: readonly Stemmer[]

  constructor(dictionary: TermDictionary, cache: OwnedCache, stemmers: readonly Stemmer[]) {
    this.dictionary = dictionary
    this.cache = cache
    this.stemmers = stemmers
  }

  /** Words with the same stem as one of `words`, except these, in dictionary order. */
  of(words: readonly string[], { max, accepts }: FormsWanted): readonly string[] {
    const found = new Set<string>()
    for (const stemmer of this.stemmers) {
      const stems = this.cache.get('stems', stemmer.code, () => stemmed(this.dictionary, stemmer))
      for (const word of words) {
        const stem = stemmer.stem(word)
        if (stem === null) continue
        for (const form of stems.get(stem) ?? []) found.add(form)
        if (this.dictionary.has(stem) && stemmer.stem(stem) === stem) found.add(stem)
      }
    }
    for (const word of words) found.delete(word)
    return [...found].sort(compareUtf8).filter(accepts).slice(0, max)
  }
}
