/** Finds the distances between two sides of a pair in documents. */
import { leastDistance } from './nearness.js'
import { type PairSide, type Run, SideCursor } from './side-cursor.js'

/** Walks the documents of a pair along ascending docids. Distances are 1 for neighbours, infinite if no field has both. */
export class Distances {
  /** Least distance where the right side follows the left one. */
  forward = Number.POSITIVE_INFINITY
  /** Least distance where the left side follows the right one. Not computed for neighbours in order. */
  backward = Number.POSITIVE_INFINITY
  private readonly left: SideCursor
  private readonly right: SideCursor

  constructor(left: PairSide, right: PairSide) {
    this.left = new SideCursor(left, 'last')
    this.right = new SideCursor(right, 'first')
  }

  /** @param docid not below that of the call before @returns false if a side does not occur in the document */
  seek(docid: number): boolean {
    const { left, right } = this
    if (!left.seek(docid) || !right.seek(docid)) return false
    this.forward = distance(left.all, right.all)
    this.backward =
      this.forward === 1 ? Number.POSITIVE_INFINITY : distance(right.reversible, left.reversible)
    return true
  }
}

const distance = (lefts: Run, rights: Run): number =>
  leastDistance(lefts.list, lefts.from, lefts.to, rights.list, rights.from, rights.to)
