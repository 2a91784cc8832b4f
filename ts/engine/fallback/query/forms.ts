/**
 * Finds the other forms of words: words of the index with the same stem, and compounds.
 *
 * Words are mapped by their stems once per version of the index and language.
 */
import type { IndexSettings } from '../../../settings/index.js'
import { Compounds } from '../analysis/compounds.js'
import { Stemmer } from '../analysis/stemmer.js'
import type { OwnedCache } from '../cache.js'
import { COMPOUND_CANDIDATES_MAX, COMPOUNDS_MAX } from '../limits.js'
import { endingsOf } from '../postings/endings.js'
import type { TermDictionary } from '../postings/postings.js'
import { stemmed } from '../postings/stems.js'
import { compareUtf8 } from '../store/text-order.js'
import { compoundsWith } from './compounds.js'

/** Which forms to look for. */
export interface FormsWanted {
  readonly max: number
  readonly accepts: (word: string) => boolean
}

export class Forms {
  private readonly dictionary: TermDictionary
  private readonly cache: OwnedCache
  private readonly stemmers: readonly Stemmer[]
  readonly compounds: Compounds | null

  constructor(
    dictionary: TermDictionary,
    cache: OwnedCache,
    { stemming = [], compounds = [] }: Pick<IndexSettings, 'stemming' | 'compounds'>,
  ) {
    this.dictionary = dictionary
    this.cache = cache
    this.stemmers = stemming.map((code) => new Stemmer(code))
    this.compounds = Compounds.of(compounds)
  }

  /** True if no word has other forms or compounds. */
  get areOff(): boolean {
    return this.stemmers.length === 0 && this.compounds === null
  }

  /** Compounds with a word, in dictionary order. */
  compoundsWith(word: string): readonly string[] {
    const { compounds, dictionary, cache } = this
    if (compounds === null) return []
    const endings = () => cache.get('endings', '', () => endingsOf(dictionary))
    const limits = { max: COMPOUNDS_MAX, candidatesMax: COMPOUND_CANDIDATES_MAX }
    return compoundsWith(word, compounds, { dictionary, endings }, limits)
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
