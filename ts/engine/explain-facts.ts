/** Here is a search and a document: what does an engine tell of the two? */

/** The answer of an engine to an `ExplainRequest`. */
export interface ExplainFacts {
  readonly words: WordFacts
  /** Where the document is among the hits; null if it is not among those that were looked at. */
  readonly rank: RankFacts | null
  readonly hitsLookedAt: number
  /** Whether the time of the search was over before all were ranked. */
  readonly degraded: boolean
  /** A better hit that shares a value of the distinct attribute with the document, which is no hit itself. */
  readonly replacedBy: { readonly attribute: string; readonly id: string } | null
}

export interface RankFacts {
  /** From 0. */
  readonly position: number
  /** As `_rankingScore` and `_rankingScoreDetails`. */
  readonly score: number
  readonly details: Readonly<Record<string, unknown>>
  /** Whether it came by vectors; null for a search by words alone. */
  readonly byMeaning: boolean | null
}

/** What the query asks for, and what of it the document has, whatever else keeps it from being a hit. */
export interface WordFacts {
  /** Three-letter codes of the languages that the query may be in, sorted: those of the search, else of the attributes. */
  readonly languages: readonly string[]
  /** Stop words that nothing is looked for by. */
  readonly ignored: readonly string[]
  /** What no hit may hold. In a phrase, null stands for any word. */
  readonly excluded: readonly string[]
  readonly excludedPhrases: readonly (readonly (string | null)[])[]
  /** Whether the document holds any of these. */
  readonly isExcluded: boolean
  /** The terms of the query, and neighbouring words read as one. */
  readonly steps: readonly WordStep[]
  /** Whether the document matches a way of reading the query, under the matching strategy. */
  readonly match: boolean
}

/** A step of reading the query. */
export interface WordStep {
  /** The word, joined for several; empty for a phrase. */
  readonly text: string
  /** The words that were joined; null for a term of the query. */
  readonly parts: readonly string[] | null
  /** The words of a quoted phrase; in it null stands for any word. */
  readonly phrase: readonly (string | null)[] | null
  /** Numbers of the terms that it covers, from 0, both included. */
  readonly firstTerm: number
  readonly lastTerm: number
  /** Typos that are forgiven. */
  readonly typosMax: number
  /** Whether anything that begins with it matches too. */
  readonly isUnfinished: boolean
  /** Whether the matching strategy lets hits lack it. */
  readonly isOptional: boolean
  readonly isInDocument: boolean
  /** What in the index may stand for it, what stands in the document first; not all of many. */
  readonly spellings: readonly Spelling[]
  readonly spellingsTotal: number
}

/** Something in the index that may stand for a step. */
export interface Spelling {
  readonly kind: 'exact' | 'phrase' | 'prefix' | 'synonym' | 'typo' | 'split'
  /** The word; of a phrase its words, with `…` for a gap; of a short common beginning that beginning and `…`. */
  readonly text: string
  /** Typos it is charged for, those of joining words included. */
  readonly typos: number
  /** Documents that it matches, of those that the asker may see. */
  readonly documents: number
  /** Where it stands in the document, the first ones; a phrase where its first word stands. */
  readonly places: readonly Place[]
}

/** A place in a document: the attribute (`<hidden>` for one that is not displayed), and the position in words, with a gap where a sentence or element ends. */
export interface Place {
  readonly attribute: string
  readonly position: number
}
