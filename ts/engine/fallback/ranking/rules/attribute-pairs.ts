/**
 * Here are two neighbouring nodes of the query: in which documents does one attribute hold a word of each?
 *
 * Source: search §7.4, `proximityPrecision: byAttribute`. A pair of words is looked up once per search, among the
 * documents that are in play at that moment, and every later bucket gets that same answer: documents that come into
 * play later do not have the pair, even if they hold both words in one attribute. The two orders of a pair are looked
 * up apart.
 */
import { find, type PostingList, shareField } from '../../postings/postings.js'
import type { TermNode } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'

/** Documents that were in play when a pair was looked up first. */
type Universe = { has(docid: number): boolean }

const EVERYWHERE: Universe = { has: () => true }

/** One end of a pair: a word, a beginning of words, or a phrase seen from its nearest word. */
interface PairEnd {
  /** The word, or the beginning that stands for all its completions. */
  readonly word: string
  readonly isPrefix: boolean
  readonly list: PostingList
  /** The documents of the phrase, null for a word. */
  readonly phrase: Universe | null
}

/** A pair end with the documents of the bucket that hold it. */
interface EndInBucket extends PairEnd {
  /** Rows of the bucket, ascending, and where in `list` each lies. */
  readonly rows: readonly number[]
  readonly nth: readonly number[]
}

/** The pairs of one search, with the documents among which each was looked up. */
export class AttributePairs {
  private readonly resolver: TermResolver
  private readonly words = new Map<string, Map<string, Universe>>()
  private readonly prefixes = new Map<string, Map<string, Universe>>()

  constructor(resolver: TermResolver) {
    this.resolver = resolver
  }

  /**
   * Calls `visit` with the rows of `docids` that have a pair of the two nodes.
   * @param order `forward` looks `from` up before `to`; `backward` the other way round, without phrases
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
      // A word that no document in play holds is paired only where there is no choice.
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

  /** The documents among which a pair was looked up first, which are those in play now for a new pair. */
  private universe(first: PairEnd, second: PairEnd, inPlay: Universe): Universe {
    // The best split of a word or n-gram was chosen among all cuts of it, each looked up in the whole index.
    if (!second.isPrefix && this.resolver.cutWords.has(first.word + second.word)) return EVERYWHERE
    const pairs = second.isPrefix ? this.prefixes : this.words
    let known = pairs.get(first.word)
    if (known === undefined) {
      known = new Map()
      pairs.set(first.word, known)
    }
    let universe = known.get(second.word)
    if (universe === undefined) {
      const [one, other] = [first.phrase, second.phrase]
      universe =
        one === null && other === null
          ? inPlay
          : { has: (docid) => inPlay.has(docid) && one?.has(docid) !== false && other?.has(docid) !== false }
      known.set(second.word, universe)
    }
    return universe
  }

  /** A beginning that is looked up before a word stands for itself alone. */
  private asWord({ word }: PairEnd): PairEnd {
    return { word, isPrefix: false, list: this.resolver.list(word), phrase: null }
  }

  private ends(node: TermNode, side: 'first' | 'last'): readonly PairEnd[] {
    const { resolver } = this
    const { words, completes, phrases } = resolver.wordsOf(node.term, node.subset)
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
    if (completes)
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

/** Whether any document in play has the phrases of a pair; one without them is not looked up. */
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
