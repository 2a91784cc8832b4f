/** Walks a posting list along ascending docids. */
import { occurrencesEnd, occurrencesStart, type PostingList } from './postings.js'

export class ListCursor {
  readonly list: PostingList
  /** Occurrences of the document that `seek` has found: offset in `list` of the first, and past the last. */
  from = 0
  to = 0
  /** Earlier documents of the list are below all docids that are sought from now on. */
  private nth = 0

  constructor(list: PostingList) {
    this.list = list
  }

  /** @param docid not below that of the call before @returns false if the list does not have the document */
  seek(docid: number): boolean {
    const { list } = this
    const count = list[0]!
    let low = this.nth
    if (low >= count || list[1 + low]! > docid) return false
    if (list[1 + low]! < docid) {
      let step = 1
      let high = low + 1
      while (high < count && list[1 + high]! < docid) {
        low = high
        high += step
        step *= 2
      }
      high = Math.min(high, count)
      while (low + 1 < high) {
        const middle = (low + high) >>> 1
        if (list[1 + middle]! < docid) low = middle
        else high = middle
      }
      this.nth = high
      if (high === count || list[1 + high] !== docid) return false
    }
    this.from = occurrencesStart(list, this.nth)
    this.to = occurrencesEnd(list, this.nth)
    return true
  }
}
