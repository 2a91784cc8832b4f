/**
 * Finds documents in which an attribute contains words of two neighbouring query nodes.
 *
 * Source: search §7.4, `proximityPrecision: byAttribute`. Each pair of words is looked up once per search, among the
 * documents in play at that moment. Later buckets reuse the result: documents added to play later do not have the pair,
 * even if an attribute contains both words. The two orders of a pair are looked up separately.
 */
import { shareField } from '../../postings/nearness.js'
import { find, type PostingList } from '../../postings/postings.js'
import type { TermNode } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'

/** Documents in play at the first lookup of a pair. */
type Universe = { has(docid: number): boolean }

const EVERYWHERE: Universe = { has: () => true }

/** An end of a pair: a word, a prefix, or the nearest word of a phrase. */
interface PairEnd {
  /** The word, or a prefix that stands for all its completions. */
  readonly word: string
  readonly isPrefix: boolean
  readonly list: PostingList
  /** Documents of the phrase, null for a word. */
  readonly phrase: Universe | null
}

/** A pair end with the documents of the bucket that contain it. */
interface EndInBucket extends PairEnd {
  /** Rows of the bucket, ascending, and their indexes in `list`. */
  readonly rows: readonly number[]
  readonly nth: readonly number[]
}

/** The pairs of a search, with the universe of each first lookup. */
export class AttributePairs {
  private readonly resolver: TermResolver
  private readonly words = new Map<string, Map<string, Universe>>()
  private readonly prefixes = new Map<string, Map<string, Universe>>()

  constructor(resolver: TermResolver) {
    this.resolver = resolver
  }

  /**
   * Calls `visit` with the rows of `docids` that have a pair of the two nodes.
   * @param order `forward` looks up `from` before `to`; `backward` looks up `to` first, and ignores phrases
   * @param docids the documents in play, ascending
   */
  visitShared(
    from: TermNode,
    to: TermNode,
    order: 'forward' | 'backward',
    docids: Uint32Array,
    visit: (row: number) => void,
  ): void {
    const inPlay = new Set(docids)
    const backward = order === 'backward'
    const rights = this.ends(to, 'first')
      .map((end) => (backward && end.isPrefix ? this.asWord(end) : end))
      .map((end) => inBucket(end, docids))
    for (const left of this.ends(from, 'last').map((end) => inBucket(end, docids))) {
      // A word without a document in play is paired only if there is a single alternative.
      if (left.rows.length === 0 && rights.filter((right) => !right.isPrefix).length > 1) continue
      for (const right of rights) {
        if (backward && (left.phrase !== null || right.phrase !== null)) continue
        if (!phrasesShare(left, right)) continue
        const universe = backward ? this.universe(right, left, inPlay) : this.universe(left, right, inPlay)
        forShared(left, right, (row) => {
          if (universe.has(docids[row]!)) visit(row)
        })
      }
    }
  }

  /** Universe of the first lookup of a pair: for a new pair, the documents in play. */
  private universe(first: PairEnd, second: PairEnd, inPlay: Universe): Universe {
    // The best split of a word or n-gram was chosen among all splits, each looked up in the whole index.
    if (!second.isPrefix && this.resolver.splitCandidates.has(first.word + second.word)) return EVERYWHERE
    const pairs = second.isPrefix ? this.prefixes : this.words
    let known = pairs.get(first.word)
    if (known === undefined) {
      known = new Map()
      pairs.set(first.word, known)
    }
    let universe = known.get(second.word)
    if (universe === undefined) {
      const [left, right] = [first.phrase, second.phrase]
      universe =
        left === null && right === null
          ? inPlay
          : { has: (docid) => inPlay.has(docid) && left?.has(docid) !== false && right?.has(docid) !== false }
      known.set(second.word, universe)
    }
    return universe
  }

  /** A prefix that is looked up before a word only matches as a word. */
  private asWord({ word }: PairEnd): PairEnd {
    return { word, isPrefix: false, list: this.resolver.list(word), phrase: null }
  }

  private ends(node: TermNode, side: 'first' | 'last'): readonly PairEnd[] {
    const { resolver } = this
    const { words, usesCompletions, phrases } = resolver.wordsOf(node.term, node.kinds)
    const ends: PairEnd[] = words.map((word) => ({
      word,
      isPrefix: false,
      list: resolver.list(word),
      phrase: null,
    }))
    for (const phrase of phrases) {
      const word = side === 'first' ? phrase[0] : phrase.at(-1)
      if (typeof word !== 'string') continue
      ends.push({
        word,
        isPrefix: false,
        list: resolver.list(word),
        phrase: resolver.documentsOfPhrase(phrase),
      })
    }
    if (usesCompletions)
      ends.push({
        word: node.term.spec.word,
        isPrefix: true,
        list: resolver.completionList(node.term),
        phrase: null,
      })
    return ends
  }
}

function inBucket(end: PairEnd, docids: Uint32Array): EndInBucket {
  const rows: number[] = []
  const nths: number[] = []
  for (let row = 0; row < docids.length; row++) {
    if (end.phrase !== null && !end.phrase.has(docids[row]!)) continue
    const nth = end.list[0] === 0 ? -1 : find(end.list, docids[row]!)
    if (nth === -1) continue
    rows.push(row)
    nths.push(nth)
  }
  return { ...end, rows, nth: nths }
}

/** Returns true if a document in play contains the phrases of a pair; otherwise the pair is not looked up. */
function phrasesShare(left: EndInBucket, right: EndInBucket): boolean {
  if (left.phrase === null) return right.phrase === null || right.rows.length > 0
  if (right.phrase === null) return left.rows.length > 0
  const rights = new Set(right.rows)
  return left.rows.some((row) => rights.has(row))
}

function forShared(left: EndInBucket, right: EndInBucket, visit: (row: number) => void): void {
  let [a, b] = [0, 0]
  while (a < left.rows.length && b < right.rows.length) {
    const difference = left.rows[a]! - right.rows[b]!
    if (difference < 0) a++
    else if (difference > 0) b++
    else {
      if (shareField(left.list, left.nth[a]!, right.list, right.nth[b]!)) visit(left.rows[a]!)
      a++
      b++
    }
  }
}
