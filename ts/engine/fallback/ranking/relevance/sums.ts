/** Adds up the scores of documents, term by term. */
import { DocSet } from '../../store/docid-set.js'
import { covered } from './formula.js'

/** How much scores can grow. */
export interface Growth {
  readonly sum: number
  /** Weight of words that may be found. */
  readonly found: number
}

/** Sums of scores by document. */
export class Sums {
  /** By docid. */
  private readonly sums: Float64Array
  /** Weight of the words found, by docid. */
  private readonly found: Float64Array
  /** By term; 0 if the term consists of words that count themselves. */
  private readonly weights: readonly number[]
  private readonly all: number
  /** Documents with a sum, in order of their first score. */
  private documents: number[] = []
  /** By term: the best score so far of each document. */
  private readonly best: Map<number, number>[]
  /** No score is greater. */
  private greatest = 0

  /** @param bound exclusive upper bound of docids */
  constructor(bound: number, weights: readonly number[]) {
    this.sums = new Float64Array(bound)
    this.found = new Float64Array(bound)
    this.weights = weights
    this.all = weights.reduce((sum, weight) => sum + weight, 0)
    this.best = weights.map(() => new Map())
  }

  /** Score of a document. */
  of(docid: number): number {
    return covered(this.sums[docid]!, this.found[docid]!, this.all)
  }

  /** The highest score that a document can reach. */
  private reachable(sum: number, found: number, rest: Growth): number {
    return covered(sum + rest.sum, Math.min(found + rest.found, this.all), this.all)
  }

  /** Adds a score for a term. A document has its best score for a term. */
  add(term: number, docid: number, score: number): void {
    const best = this.best[term]!
    const before = best.get(docid) ?? 0
    if (score <= before) return
    best.set(docid, score)
    if (this.sums[docid] === 0) this.documents.push(docid)
    this.sums[docid] = this.sums[docid]! + score - before
    if (before === 0) this.found[docid] = this.found[docid]! + this.weights[term]!
    this.greatest = Math.max(this.greatest, this.of(docid))
  }

  /**
   * Documents of `universe` that can still be among the best `count` if no score grows by more than `rest`; null if
   * documents without a sum can be among them too.
   */
  candidates(universe: DocSet, count: number, rest: Growth): DocSet | null {
    const unseen = this.reachable(0, 0, rest)
    // No document can be excluded, so the sums need not be read.
    if (unseen >= this.greatest || this.documents.length < count) return null
    const seen = this.documents.filter((docid) => universe.has(docid))
    if (count === 0 || seen.length < count) return null
    const scores = Float64Array.from(seen, (docid) => this.of(docid)).sort()
    const least = scores[scores.length - count]!
    if (unseen >= least) return null
    const canRise = (docid: number): boolean =>
      this.reachable(this.sums[docid]!, this.found[docid]!, rest) >= least
    return DocSet.of(this.sums.length, seen.filter(canRise))
  }

  /** Documents of `universe` with a sum. */
  documentsIn(universe: DocSet): DocSet {
    return DocSet.of(
      this.sums.length,
      this.documents.filter((docid) => universe.has(docid)),
    )
  }

  /** Forgets all documents except `docs`. */
  keep(docs: DocSet): void {
    this.documents = this.documents.filter((docid) => docs.has(docid))
  }
}
