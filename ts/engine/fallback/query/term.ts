/**
 * Here is a term of the query: which indexed words stand for it, at which price?
 *
 * Source: search §5.
 *  1. Level 0 holds the word, its completions and its synonyms.
 *  2. Level 1 holds words one typo away and the best split, level 2 words two typos away.
 *  3. A short beginning that many words share is completed by all of them, any other by the first ones only.
 *  4. An n-gram has no split into the very words it was joined from.
 *
 * Levels are worked out when asked for.
 */
import {
  PREFIX_WORDS_MAX,
  SHORT_PREFIX_BYTES_MAX,
  SHORT_PREFIX_WORDS_MIN,
  WORD_BYTES_MAX,
} from '../limits.js'
import type { TermDictionary } from '../postings/postings.js'
import type { PhraseWords } from './parse.js'
import { type TypoWords, typoWords } from './typos.js'

export type Level = 0 | 1 | 2

/** What a term needs to know of the index. */
export interface TermSource {
  readonly dictionary: TermDictionary
  /** Whether a word stands anywhere that typos may find it. */
  allowsTypos(word: string): boolean
  /** The best way to read a word as two, null if there is none. */
  split(word: string): readonly [string, string] | null
}

/** How a term came about. */
export interface TermSpec {
  /** The word, or the joined words of an n-gram; empty for a phrase. */
  readonly word: string
  readonly phrase: PhraseWords | null
  /** The words of an n-gram. */
  readonly ngram: readonly string[] | null
  readonly isPrefix: boolean
  readonly budget: number
  readonly synonyms: readonly PhraseWords[]
}

export class Term {
  readonly spec: TermSpec
  private readonly source: TermSource
  private typos: TypoWords | null = null
  private splitWords: PhraseWords | null | undefined
  private shortPrefix: boolean | null = null
  private completed: readonly string[] | null = null

  constructor(spec: TermSpec, source: TermSource) {
    this.spec = spec
    this.source = source
  }

  /** The word itself if it is indexed. */
  get exact(): string | null {
    const { word, phrase } = this.spec
    return phrase === null && this.source.dictionary.has(word) ? word : null
  }

  /** Whether completions are all words of a short, common beginning. */
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

  /** Indexed words that begin with the word, itself excluded. */
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

  get oneTypo(): readonly string[] {
    return this.typoWords.one
  }

  get twoTypos(): readonly string[] {
    return this.typoWords.two
  }

  private get typoWords(): TypoWords {
    if (this.typos === null) {
      const { word, phrase, budget, isPrefix } = this.spec
      const none = phrase !== null || word === '' || Buffer.byteLength(word) > WORD_BYTES_MAX
      this.typos = typoWords(this.source.dictionary, word, {
        budget: none ? 0 : budget,
        isPrefix,
        accepts: (candidate) => this.source.allowsTypos(candidate),
      })
    }
    return this.typos
  }

  /** The word read as two words that stand side by side somewhere. */
  get split(): PhraseWords | null {
    if (this.splitWords === undefined) {
      const { word, phrase, ngram } = this.spec
      const whole = phrase === null && word !== '' && Buffer.byteLength(word) <= WORD_BYTES_MAX
      const split = whole ? this.source.split(word) : null
      const same = ngram !== null && ngram.length === 2 && split?.[0] === ngram[0] && split?.[1] === ngram[1]
      this.splitWords = same ? null : split
    }
    return this.splitWords
  }

  /** Phrases of a level: the quoted phrase and synonyms, or the split. */
  phrases(level: Level): readonly PhraseWords[] {
    if (level === 0) return this.spec.phrase === null ? this.spec.synonyms : [this.spec.phrase]
    return level === 1 && this.split !== null ? [this.split] : []
  }
}

/** Which levels of a term are still in play. Rules narrow it. */
export interface Subset {
  /** Bit i: level i. */
  readonly levels: number
  /** Only the word itself or the quoted phrase. */
  readonly exactOnly: boolean
}

export const EVERYTHING: Subset = { levels: 0b111, exactOnly: false }

export const hasLevel = (subset: Subset, level: Level): boolean => (subset.levels & (1 << level)) !== 0

/** Highest typo level that still has to be counted with. Source: search §7.3. */
export function highestLevel(term: Term, subset: Subset): Level {
  const { phrase, budget } = term.spec
  if (phrase !== null) return 0
  if (budget === 0) return 1
  if (budget === 2 && hasLevel(subset, 2)) return 2
  return hasLevel(subset, 1) ? 1 : 0
}
