/**
 * Finds the other forms of words: words of the index with the same stem, compounds, and Chinese words by their pinyin.
 *
 * Words are mapped by their stems once per version of the index and language.
 */
import type { IndexSettings } from '../../../settings/index.js'
import { Compounds } from '../analysis/compounds.js'
import { Pinyin } from '../analysis/pinyin/pinyin.js'
import { Stemmer } from '../analysis/stemmer.js'
import type { OwnedCache } from '../cache.js'
import {
  COMPOUND_CANDIDATES_MAX,
  COMPOUNDS_MAX,
  PINYIN_CANDIDATES_MAX,
  PINYIN_FIRST_HALVES_MAX,
  PINYIN_WORDS_MAX,
} from '../limits.js'
import { endingsOf } from '../postings/endings.js'
import type { TermDictionary } from '../postings/postings.js'
import { stemmed } from '../postings/stems.js'
import { compareUtf8 } from '../store/text-order.js'
import { compoundsWith } from './compounds.js'
import { type ChineseWords, chineseWords, halvesReadAs, wordsReadAs } from './pinyin.js'

const PINYIN_LIMITS = { max: PINYIN_WORDS_MAX, candidatesMax: PINYIN_CANDIDATES_MAX }

/** Which forms to look for. */
interface FormsWanted {
  readonly max: number
  readonly accepts: (word: string) => boolean
}

export class Forms {
  private readonly dictionary: TermDictionary
  private readonly cache: OwnedCache
  private readonly stemmers: readonly Stemmer[]
  readonly compounds: Compounds | null
  private readonly hasPinyin: boolean

  constructor(
    dictionary: TermDictionary,
    cache: OwnedCache,
    {
      stemming = [],
      compounds = [],
      pinyin = false,
    }: Pick<IndexSettings, 'stemming' | 'compounds' | 'pinyin'>,
  ) {
    this.dictionary = dictionary
    this.cache = cache
    this.stemmers = stemming.map((code) => new Stemmer(code))
    this.compounds = Compounds.of(compounds)
    this.hasPinyin = pinyin
  }

  /** True if no word has other forms, compounds or pinyin. */
  get areOff(): boolean {
    return this.stemmers.length === 0 && this.compounds === null && !this.hasPinyin
  }

  private get chinese(): ChineseWords {
    return this.cache.get('chinese', '', () => chineseWords(this.dictionary))
  }

  /** Chinese words that are read as a word, the closest first. */
  readAs(word: string, isPrefix: boolean): readonly string[] {
    const pinyin = this.hasPinyin ? Pinyin.of(word, isPrefix) : null
    return pinyin === null ? [] : wordsReadAs(pinyin, this.chinese, PINYIN_LIMITS)
  }

  /** Pairs of Chinese words that are read as the two halves of a word. */
  halvesReadAs(word: string, isPrefix: boolean): readonly (readonly [left: string, right: string])[] {
    if (!this.hasPinyin || Pinyin.of(word, isPrefix) === null) return []
    const limits = { ...PINYIN_LIMITS, firstMax: PINYIN_FIRST_HALVES_MAX }
    return halvesReadAs(word, isPrefix, this.chinese, limits)
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
