/**
 * Finds the derivations of a query term: words of the index that may stand for it, by number of typos.
 *
 * Source: search §5.
 * 1. Without typos: the word, its completions and its synonyms.
 * 2. With one typo: other forms of the word, compounds with it, Chinese words that are read as it, words one typo away and
 *    the best split. With two typos: words two typos away, and other forms of words one typo away if the index has neither the word nor a form of it.
 * 3. A short prefix of many words is completed by all of them, any other prefix by the first completions only.
 * 4. An n-gram is not split into the words it was joined from.
 * 5. Letters of Korean that the next one changes are changed, with one typo.
 * 6. The second half of a split may be completed where a dictionary cuts words.
 * 7. A word that has no other split may be read as two neighbouring Chinese words.
 *
 * Derivations are computed lazily.
 */
import { typedOn } from '../analysis/hangul.js'
import { needsDictionary } from '../analysis/words/index.js'
import {
  FORMS_MAX,
  ONE_TYPO_WORDS_MAX,
  PREFIX_WORDS_MAX,
  SHORT_PREFIX_BYTES_MAX,
  SHORT_PREFIX_WORDS_MIN,
  WORD_BYTES_MAX,
} from '../limits.js'
import type { TermDictionary } from '../postings/postings.js'
import type { Forms } from './forms.js'
import type { PhraseWords } from './parse.js'
import { type Misspellings, NONE } from './typos.js'

export type TypoCount = 0 | 1 | 2

/** Index data that a term uses. */
export interface TermSource {
  readonly dictionary: TermDictionary
  readonly forms: Forms
  /** True if dictionaries cut the texts of the index. */
  readonly hasDictionaries: boolean
  /** Returns true if a word occurs in a field with typo tolerance. */
  allowsTypos(word: string): boolean
  /** Words within `budget` typos of a word; `budget` is 1 or 2. */
  misspellings(word: string, budget: number, isPrefix: boolean): Misspellings
  /** The best split of a word into two words, null if there is none. */
  split(word: string): readonly [string, string] | null
  /**
   * As `split` for the start of a text, which is one of `texts`: the second word may be completed.
   * @param excluded first word of a split that does not count
   */
  completedSplit(texts: readonly string[], excluded: string | null): readonly [string, string] | null
  /** The best two Chinese words that are read as the halves of a word; null if there are none. */
  halvesReadAs(word: string, isPrefix: boolean): readonly [string, string] | null
}

/** The part of the query that a term was made from. */
interface TermSpec {
  /** The word, or the joined words of an n-gram; empty for a phrase. */
  readonly word: string
  readonly phrase: PhraseWords | null
  /** The words of an n-gram. */
  readonly ngram: readonly string[] | null
  readonly isPrefix: boolean
  readonly budget: number
  readonly synonyms: readonly PhraseWords[]
  /** False if the word is not split in two. */
  readonly isSplit: boolean
  /** True if nothing separates the words of the n-gram. */
  readonly isAttached: boolean
}

export class Term {
  readonly spec: TermSpec
  private readonly source: TermSource
  private misspelt: Misspellings | null = null
  private stemForms: readonly string[] | null = null
  private joinedWords: readonly string[] | null = null
  private readWords: readonly string[] | null = null
  private splitWords: PhraseWords | null | undefined
  private shortPrefix: boolean | null = null
  private completed: readonly string[] | null = null

  constructor(spec: TermSpec, source: TermSource) {
    this.spec = spec
    this.source = source
  }

  /** The word itself, if it is indexed. */
  get exact(): string | null {
    const { word, phrase } = this.spec
    return phrase === null && this.source.dictionary.has(word) ? word : null
  }

  /** True if the word is a short common prefix, completed by all its words. */
  get usesShortPrefix(): boolean {
    const { word, isPrefix } = this.spec
    if (!isPrefix || Buffer.byteLength(word) > SHORT_PREFIX_BYTES_MAX) return false
    if (this.shortPrefix === null) {
      const { dictionary } = this.source
      const [from, to] = dictionary.prefixRange(word)
      let words = 0
      for (let at = from; at < to && words < SHORT_PREFIX_WORDS_MIN; at++)
        if (this.source.allowsTypos(dictionary.sorted[at]!)) words++
      this.shortPrefix = words === SHORT_PREFIX_WORDS_MIN
    }
    return this.shortPrefix
  }

  /** Indexed words that start with the word, excluding the word itself. */
  get completions(): readonly string[] {
    if (this.completed === null) {
      const { word, isPrefix } = this.spec
      if (isPrefix && Buffer.byteLength(word) <= WORD_BYTES_MAX) {
        const { dictionary } = this.source
        const [from, to] = dictionary.prefixRange(word)
        const start = dictionary.sorted[from] === word ? from + 1 : from
        this.completed = dictionary.sorted.slice(
          start,
          this.usesShortPrefix ? to : Math.min(to, start + PREFIX_WORDS_MAX),
        )
      } else this.completed = []
    }
    return this.completed
  }

  /** True if the index contains the word or another form of it. */
  get isKnown(): boolean {
    return this.exact !== null || this.forms.length > 0
  }

  /** Words with the same stem, then compounds with the word, then Chinese words that are read as it. */
  get forms(): readonly string[] {
    if (this.compounds.length === 0 && this.pinyin.length === 0) return this.stems
    return [...this.stems, ...this.compounds, ...this.pinyin]
  }

  private get hasForms(): boolean {
    const { word, phrase } = this.spec
    return phrase === null && word !== '' && Buffer.byteLength(word) <= WORD_BYTES_MAX
  }

  /** Words with the same stem. */
  get stems(): readonly string[] {
    this.stemForms ??= this.hasForms
      ? this.source.forms.of([this.spec.word], { max: FORMS_MAX, accepts: () => true })
      : []
    return this.stemForms
  }

  /** Compounds with the word. */
  get compounds(): readonly string[] {
    this.joinedWords ??= this.hasForms
      ? this.source.forms.compoundsWith(this.spec.word).filter((word) => !this.stems.includes(word))
      : []
    return this.joinedWords
  }

  /** Chinese words that are read as the word. */
  get pinyin(): readonly string[] {
    const { word, isPrefix } = this.spec
    this.readWords ??= this.hasForms ? this.source.forms.readAs(word, isPrefix) : []
    return this.readWords
  }

  get oneTypo(): readonly string[] {
    return this.misspellings.oneTypo
  }

  get twoTypos(): readonly string[] {
    return this.misspellings.twoTypos
  }

  private get misspellings(): Misspellings {
    if (this.misspelt === null) {
      const { word, phrase, budget, isPrefix } = this.spec
      const none = phrase !== null || word === '' || Buffer.byteLength(word) > WORD_BYTES_MAX
      const accepts = (candidate: string): boolean => this.source.allowsTypos(candidate)
      const found = none || budget === 0 ? NONE : this.source.misspellings(word, budget, isPrefix)
      // With a budget, misspellings include these words.
      const all = budget === 0 ? { ...found, oneTypo: this.typedOn(accepts) } : found
      this.misspelt = this.source.forms.areOff ? all : this.withForms(all, accepts)
    }
    return this.misspelt
  }

  /** Words that a Korean word may become while it is typed. */
  private typedOn(accepts: (candidate: string) => boolean): readonly string[] {
    const { word, phrase, isPrefix } = this.spec
    const { dictionary } = this.source
    if (phrase !== null || !isPrefix || Buffer.byteLength(word) > WORD_BYTES_MAX) return []
    const found: string[] = []
    for (const start of typedOn(word)) {
      const [from, to] = dictionary.prefixRange(start)
      for (let at = from; at < to && found.length < ONE_TYPO_WORDS_MAX; at++)
        if (accepts(dictionary.sorted[at]!)) found.push(dictionary.sorted[at]!)
    }
    return found
  }

  private withForms(found: Misspellings, accepts: (candidate: string) => boolean): Misspellings {
    const isOther = (candidate: string): boolean => !this.forms.includes(candidate)
    const [oneTypo, twoTypos] = [found.oneTypo.filter(isOther), found.twoTypos.filter(isOther)]
    if (this.isKnown) return { oneTypo, twoTypos }
    const length = Array.from(this.spec.word).length + 1
    const corrected = oneTypo.filter((candidate) => Array.from(candidate).length <= length)
    const known = new Set([...oneTypo, ...twoTypos])
    const forms = this.source.forms.of(corrected, {
      max: FORMS_MAX,
      accepts: (candidate) => !known.has(candidate) && accepts(candidate),
    })
    return { oneTypo, twoTypos: [...twoTypos, ...forms] }
  }

  /** The split of the word into two words that are neighbours in a document. */
  get split(): PhraseWords | null {
    if (this.splitWords === undefined) {
      const { word, phrase, ngram } = this.spec
      const canSplit =
        this.spec.isSplit && phrase === null && word !== '' && Buffer.byteLength(word) <= WORD_BYTES_MAX
      const split = canSplit ? this.source.split(word) : null
      const undoesNgram =
        ngram !== null && ngram.length === 2 && split?.[0] === ngram[0] && split?.[1] === ngram[1]
      this.splitWords = undoesNgram ? null : split
      if (this.splitWords === null && canSplit) this.splitWords = this.completedSplit() ?? this.readHalves()
    }
    return this.splitWords
  }

  /** The start of a word may be cut elsewhere than the word: 전자사 is 전 and 자사, but 전자사전 is 전자 and 사전. */
  private completedSplit(): PhraseWords | null {
    const { word, ngram, isPrefix, isAttached } = this.spec
    const isOpen = isPrefix && (ngram === null || isAttached) && this.exact === null
    if (!isOpen || !this.source.hasDictionaries || !needsDictionary(word)) return null
    return this.source.completedSplit([word, ...typedOn(word)], ngram?.length === 2 ? ngram[0]! : null)
  }

  /** Words that jieba lacks, such as many traditional ones, are cut into their characters. */
  private readHalves(): PhraseWords | null {
    const { word, ngram, isPrefix } = this.spec
    return ngram === null ? this.source.halvesReadAs(word, isPrefix) : null
  }

  /** Phrases with `typos` typos: 0 the quoted phrase or the synonyms, 1 the split. */
  phrases(typos: TypoCount): readonly PhraseWords[] {
    if (typos === 0) return this.spec.phrase === null ? this.spec.synonyms : [this.spec.phrase]
    return typos === 1 && this.split !== null ? [this.split] : []
  }
}

/** Derivations of a term that are still in play. Rules narrow them. */
export interface DerivationKinds {
  /** Bit i: derivations with i typos. */
  readonly typoCounts: number
  /** Only the word itself or the quoted phrase. */
  readonly exactOnly: boolean
}

export const ALL_KINDS: DerivationKinds = { typoCounts: 0b111, exactOnly: false }

export const hasTypos = (kinds: DerivationKinds, typos: TypoCount): boolean =>
  (kinds.typoCounts & (1 << typos)) !== 0

/** Highest typo count that is still possible. Source: search §7.3. */
export function mostTypos(term: Term, kinds: DerivationKinds): TypoCount {
  const { phrase, budget } = term.spec
  if (phrase !== null) return 0
  if (budget === 0) return 1
  if (budget === 2 && hasTypos(kinds, 2)) return 2
  return hasTypos(kinds, 1) ? 1 : 0
}
