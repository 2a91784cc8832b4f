/** Facts that an engine returns to explain the position of a document among the hits of a search. */

/** Answer of an engine to an `ExplainRequest`. */
export interface ExplainFacts {
  readonly words: WordFacts
  /** Rank of the document among the hits; null if it is not among the hits that were examined. */
  readonly rank: RankFacts | null
  readonly hitsLookedAt: number
  /** True if the search ran out of time before all documents were ranked. */
  readonly degraded: boolean
  /** A better hit with the same value of the distinct attribute. It replaces the document, which is no hit itself. */
  readonly replacedBy: { readonly attribute: string; readonly id: string } | null
}

export interface RankFacts {
  /** Counted from 0. */
  readonly position: number
  /** Same values as `_rankingScore` and `_rankingScoreDetails`. */
  readonly score: number
  readonly details: Readonly<Record<string, unknown>>
  /** True if the hit came from vectors; null for a keyword search. */
  readonly byMeaning: boolean | null
}

/** The query words, and which of them the document contains, even if other conditions exclude it from the hits. */
export interface WordFacts {
  /** Sorted three-letter codes of the possible query languages: those of the search, else those of the attributes. */
  readonly languages: readonly string[]
  /** Stop words, which the search ignores. */
  readonly ignored: readonly string[]
  /** Words that hits must not contain. */
  readonly excluded: readonly string[]
  /** Phrases that hits must not contain; null stands for any word. */
  readonly excludedPhrases: readonly (readonly (string | null)[])[]
  /** True if the document contains an excluded word or phrase. */
  readonly isExcluded: boolean
  /** The query terms, and neighbouring words read as one word. */
  readonly steps: readonly WordStep[]
  /** True if the document matches the query in any reading, under the matching strategy. */
  readonly match: boolean
}

/** A word, phrase or joined word in a reading of the query. */
export interface WordStep {
  /** The word, or several words joined; empty for a phrase. */
  readonly text: string
  /** The joined words; null for a query term. */
  readonly parts: readonly string[] | null
  /** Words of a quoted phrase; null stands for any word. */
  readonly phrase: readonly (string | null)[] | null
  /** Numbers of the first and last query term it covers, from 0, both inclusive. */
  readonly firstTerm: number
  readonly lastTerm: number
  /** Maximum number of typos. */
  readonly typosMax: number
  /** True if it is also matched as a prefix. */
  readonly isUnfinished: boolean
  /** True if the matching strategy allows hits without it. */
  readonly isOptional: boolean
  readonly isInDocument: boolean
  /** Derivations in the index, those in the document first; truncated if there are many. */
  readonly spellings: readonly Spelling[]
  readonly spellingsTotal: number
}

/** A derivation: a term of the index that may stand for a step. */
export interface Spelling {
  readonly kind: 'exact' | 'phrase' | 'prefix' | 'synonym' | 'stem' | 'compound' | 'pinyin' | 'typo' | 'split'
  /** The word; for a phrase its words, with `…` for a gap; for a short common prefix the prefix and `…`. */
  readonly text: string
  /** Typos charged, including those for joining words. */
  readonly typos: number
  /** Number of matching documents that the caller may see. */
  readonly documents: number
  /** Its first positions in the document; for a phrase, the positions of its first word. */
  readonly places: readonly Place[]
}

/**
 * A position in a document: the attribute (`<hidden>` if it is not displayed), and the position in words, which jumps
 * where a sentence or array element ends.
 */
export interface Place {
  readonly attribute: string
  readonly position: number
}
