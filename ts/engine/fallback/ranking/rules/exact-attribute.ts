/**
 * Ranks documents first with an attribute equal to the query, then with an attribute that starts with it. Source:
 * search §7.7.
 * 1. Each query word is at its own position in some attribute, and one attribute contains all of them.
 * 2. If this attribute has as many words as the query, it is equal to the query.
 * 3. Completions, typos, synonyms, splits and n-grams are never exact.
 */
import type { IndexData } from '../../index-data/index-data.js'
import { LENGTH_COUNTED_MAX } from '../../limits.js'
import { ListCursor } from '../../postings/list-cursor.js'
import { exactWords, type QueryGraph, type TermNode } from '../../query/graph.js'
import type { PhraseWords } from '../../query/parse.js'
import type { TermResolver } from '../../query/resolver.js'
import { positionBucket } from '../../store/buckets.js'
import type { RankingRule } from '../rule.js'

/** A word and its position in the query. */
interface ExactWord {
  readonly word: string
  readonly position: number
}

/** Query words in order and the number of positions they take; null if a word has no exact form. */
function exactReading(graph: QueryGraph): { words: ExactWord[]; positions: number } | null {
  const byId = new Map<number, { node: TermNode; words: PhraseWords }>()
  for (const node of graph.nodes) {
    const words = exactWords(node)
    if (words !== null && !byId.has(node.firstId)) byId.set(node.firstId, { node, words })
  }
  const words: ExactWord[] = []
  let positions = 0
  const ids = [...byId.keys()].sort((a, b) => a - b)
  for (const [at, id] of ids.entries()) {
    if (id !== at) return null
    const { node, words: own } = byId.get(id)!
    positions += node.lastPosition - node.firstPosition + 1
    for (const [step, word] of own.entries())
      if (word !== null) words.push({ word, position: node.firstPosition + step })
  }
  return words.length === 0 ? null : { words, positions }
}

/** Finds the fields that contain all words, along ascending docids. */
class ExactFields {
  private readonly searched: Uint8Array | null
  private readonly words: readonly { readonly cursor: ListCursor; readonly bucket: number }[]
  /** Fields that contain the words so far, ascending, and those before the last word. */
  private fields: number[] = []
  private fieldsBefore: number[] = []

  constructor(resolver: TermResolver, words: readonly ExactWord[]) {
    this.searched = resolver.searched
    this.words = words.map(({ word, position }) => ({
      cursor: new ListCursor(resolver.list(word)),
      bucket: positionBucket(position),
    }))
  }

  /** Searched fields that contain all words, ascending, if each word is also at its position in some field; otherwise null. */
  of(docid: number): readonly number[] | null {
    const { words } = this
    for (let nth = 0; nth < words.length; nth++) if (!words[nth]!.cursor.seek(docid)) return null
    for (let nth = 0; nth < words.length; nth++) {
      const { fields } = this
      this.fields = this.fieldsBefore
      this.fieldsBefore = fields
      const { cursor, bucket } = words[nth]!
      if (!this.collect(cursor, bucket, nth === 0) || this.fields.length === 0) return null
    }
    return this.fields
  }

  /** Collects the fields of a word that also contain the words before. @returns true if it is at its position */
  private collect({ list, from, to }: ListCursor, bucket: number, isFirst: boolean): boolean {
    const { searched, fields, fieldsBefore } = this
    fields.length = 0
    let isInPosition = false
    let latest = -1
    let before = 0
    for (let at = from; at < to; at++) {
      const occurrence = list[at]!
      if (positionBucket(occurrence & 0xffff) === bucket) isInPosition = true
      const field = occurrence >>> 16
      if (field === latest) continue
      latest = field
      while (before < fieldsBefore.length && fieldsBefore[before]! < field) before++
      if ((searched === null || searched[field] === 1) && (isFirst || fieldsBefore[before] === field))
        fields.push(field)
    }
    return isInPosition
  }
}

/** @param fields ascending */
function includes(fields: readonly number[], field: number): boolean {
  let low = 0
  let high = fields.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (fields[middle]! < field) low = middle + 1
    else high = middle
  }
  return fields[low] === field
}

function hasLength(index: IndexData, docid: number, fields: readonly number[], words: number): boolean {
  const pairs = index.text.lengths[docid]
  if (pairs === undefined || words > LENGTH_COUNTED_MAX) return false
  for (let at = 0; at < pairs.length; at += 2)
    if (pairs[at + 1] === words && includes(fields, pairs[at]!)) return true
  return false
}

const RANK_MAX = 3

export function exactAttributeRule(resolver: TermResolver): RankingRule {
  return function* (docids, graph) {
    const reading = graph === null ? null : exactReading(graph)
    const ranks = new Uint8Array(docids.length).fill(1)
    const counts: Record<1 | 2 | 3, number> = { 1: docids.length, 2: 0, 3: 0 }
    if (reading !== null) {
      const exact = new ExactFields(resolver, reading.words)
      for (let at = 0; at < docids.length; at++) {
        const docid = docids[at]!
        const fields = exact.of(docid)
        if (fields === null) continue
        const rank = hasLength(resolver.index, docid, fields, reading.positions) ? RANK_MAX : 2
        ranks[at] = rank
        counts[rank]++
        counts[1]--
      }
    }
    for (const rank of [RANK_MAX, 2, 1] as const)
      if (counts[rank] > 0) {
        const bucket = counts[rank] === docids.length ? docids : withRank(docids, ranks, rank, counts[rank])
        yield { docids: bucket, graph, detail: { rule: 'exactAttribute', rank, max: RANK_MAX } }
      }
  }
}

/** @param count of the documents with the rank */
function withRank(docids: Uint32Array, ranks: Uint8Array, rank: number, count: number): Uint32Array {
  const found = new Uint32Array(count)
  for (let at = 0, filled = 0; filled < count; at++) if (ranks[at] === rank) found[filled++] = docids[at]!
  return found
}
