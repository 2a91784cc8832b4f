/**
 * Ranks documents first with an attribute equal to the query, then with an attribute that starts with it. Source:
 * search §7.7.
 * 1. Each query word is at its own position in some attribute, and one attribute contains all of them.
 * 2. If this attribute has as many words as the query, it is equal to the query.
 * 3. Completions, typos, synonyms, splits and n-grams are never exact.
 */
import type { IndexData } from '../../index-data/index-data.js'
import { LENGTH_COUNTED_MAX } from '../../limits.js'
import { find, occurrencesEnd, occurrencesStart } from '../../postings/postings.js'
import { exactWords, type QueryGraph, type TermNode } from '../../query/graph.js'
import type { PhraseWords } from '../../query/parse.js'
import type { TermResolver } from '../../query/resolver.js'
import { bucketedPosition } from '../../store/buckets.js'
import type { RankingRule } from '../rule.js'

/** A word and its bucketed position in the query. */
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
      if (word !== null) words.push({ word, position: bucketedPosition(node.firstPosition + step) })
  }
  return words.length === 0 ? null : { words, positions }
}

/** Searched fields of a document that contain all words, if each word is also at its position in some field. */
function fieldsHolding(
  resolver: TermResolver,
  words: readonly ExactWord[],
  docid: number,
): Set<number> | null {
  let fields: Set<number> | null = null
  for (const { word, position } of words) {
    const list = resolver.list(word)
    const nth = find(list, docid)
    if (nth === -1) return null
    const here = new Set<number>()
    let isInPosition = false
    for (let at = occurrencesStart(list, nth); at < occurrencesEnd(list, nth); at++) {
      const occurrence = list[at]!
      const field = occurrence >>> 16
      if (resolver.searched === null || resolver.searched[field] === 1) here.add(field)
      if (bucketedPosition(occurrence & 0xffff) === position) isInPosition = true
    }
    if (!isInPosition) return null
    fields = fields === null ? here : intersection(fields, here)
    if (fields.size === 0) return null
  }
  return fields
}

function intersection(left: ReadonlySet<number>, right: ReadonlySet<number>): Set<number> {
  return new Set([...left].filter((item) => right.has(item)))
}

function hasLength(index: IndexData, docid: number, fields: ReadonlySet<number>, words: number): boolean {
  const pairs = index.text.lengths[docid]
  if (pairs === undefined || words > LENGTH_COUNTED_MAX) return false
  for (let at = 0; at < pairs.length; at += 2)
    if (pairs[at + 1] === words && fields.has(pairs[at]!)) return true
  return false
}

export function exactAttributeRule(resolver: TermResolver): RankingRule {
  return function* (docids, graph) {
    const reading = graph === null ? null : exactReading(graph)
    const byRank: [number[], number[], number[]] = [[], [], []]
    for (const docid of docids) {
      const fields = reading === null ? null : fieldsHolding(resolver, reading.words, docid)
      const rank =
        fields === null || reading === null
          ? 1
          : hasLength(resolver.index, docid, fields, reading.positions)
            ? 3
            : 2
      byRank[rank - 1]!.push(docid)
    }
    for (const rank of [3, 2, 1] as const) {
      const bucket = byRank[rank - 1]!
      if (bucket.length > 0)
        yield { docids: Uint32Array.from(bucket), graph, detail: { rule: 'exactAttribute', rank, max: 3 } }
    }
  }
}
