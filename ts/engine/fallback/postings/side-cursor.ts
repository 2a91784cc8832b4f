/** Reads the occurrences of one side of a pair along ascending docids. */
import type { DocSet } from '../store/docid-set.js'
import { ListCursor } from './list-cursor.js'
import { sortRange } from './merged-lists.js'
import { EMPTY_LIST, type PostingList } from './postings.js'

/** Occurrences of words and phrases, as one side of a pair. */
export interface PairSide {
  /** Single words: exact, completions one by one, typos. */
  readonly words: PostingList
  /** Completions of a short common prefix, which do not count in reverse order. */
  readonly completions: PostingList
  readonly phrases: readonly PhraseOccurrences[]
}

export interface PhraseOccurrences {
  readonly documents: DocSet
  /** Occurrences of the first word, which are those of the phrase. */
  readonly firstWord: PostingList
  /** Occurrences of the first and last slot, for neighbours of the phrase; empty for a stop word. */
  readonly first: PostingList
  readonly last: PostingList
}

/** Ascending occurrences: those in `list` from `from` to before `to`. */
export interface Run {
  list: Uint32Array
  from: number
  to: number
}

interface Other {
  readonly cursor: ListCursor
  /** null: all documents of the list. */
  readonly within: DocSet | null
}

export class SideCursor {
  /** All occurrences in the document. */
  readonly all: Run = { list: EMPTY_LIST, from: 0, to: 0 }
  /** Occurrences that also count in reverse order. */
  readonly reversible: Run = { list: EMPTY_LIST, from: 0, to: 0 }
  private readonly words: ListCursor
  private readonly others: readonly Other[]
  private merged = new Uint32Array(32)

  /** @param slot the word of phrases that is next to the other side */
  constructor({ words, completions, phrases }: PairSide, slot: 'first' | 'last') {
    this.words = new ListCursor(words)
    this.others = [
      { cursor: new ListCursor(completions), within: null },
      ...phrases.map((phrase) => ({ cursor: new ListCursor(phrase[slot]), within: phrase.documents })),
    ].filter(({ cursor }) => cursor.list !== EMPTY_LIST)
  }

  /** @param docid not below that of the call before @returns false if the document has no occurrence */
  seek(docid: number): boolean {
    const { words, all, reversible } = this
    const isHere = words.seek(docid)
    reversible.list = all.list = words.list
    reversible.from = all.from = isHere ? words.from : 0
    reversible.to = all.to = isHere ? words.to : 0
    for (const { cursor, within } of this.others)
      if ((within === null || within.has(docid)) && cursor.seek(docid)) this.add(cursor)
    if (all.list !== reversible.list) sortRange(all.list, all.from, all.to)
    return all.to > all.from
  }

  private add({ list, from, to }: ListCursor): void {
    const { all } = this
    const length = all.to - all.from
    if (length + to - from > this.merged.length) this.merged = new Uint32Array(2 * (length + to - from))
    if (all.list !== this.merged)
      for (let at = 0; at < length; at++) this.merged[at] = all.list[all.from + at]!
    for (let at = from; at < to; at++) this.merged[length + at - from] = list[at]!
    all.list = this.merged
    all.from = 0
    all.to = length + to - from
  }
}
