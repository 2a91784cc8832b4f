/**
 * Literal matches first, in two steps. Source: spec/search-semantics.md §7.7.
 *  1. A field that is the query comes first, one that begins with it second.
 *  2. Then the more words are found as they were typed, the better.
 *  3. Completions, typos, synonyms, splits and n-grams are never exact.
 */
import { DocSet } from '../doc-set.js'
import type { IndexData } from '../index-data.js'
import { LENGTH_COUNTED_MAX } from '../limits.js'
import { find, occurrencesEnd, occurrencesStart } from '../postings.js'
import { idCount, type QueryGraph, type TermNode } from '../query/graph.js'
import type { Matcher } from '../query/matcher.js'
import type { PhraseWords } from '../query/parse.js'
import { hasLevel } from '../query/term.js'
import type { RankingRule } from './bucket.js'
import { costRule, IMPOSSIBLE } from './costs.js'
import { bucketedPosition } from './place-rules.js'

/** The exact words of a node, null if it has none left. */
function exactWords({ term, subset }: TermNode): PhraseWords | null {
  if (term.spec.ngram !== null || !hasLevel(subset, 0)) return null
  if (term.spec.phrase !== null) return term.spec.phrase
  return term.exact === null ? null : [term.exact]
}

/** A word and the bucketed position at which the query has it. */
interface ExactWord {
  readonly word: string
  readonly position: number
}

/** All words of the query in order and the positions they take, null if one has no exact form. */
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

/** Searched fields of a document that hold all words, if each also stands at its position in some field. */
function fieldsHolding(matcher: Matcher, words: readonly ExactWord[], docid: number): Set<number> | null {
  let fields: Set<number> | null = null
  for (const { word, position } of words) {
    const list = matcher.list(word)
    const nth = find(list, docid)
    if (nth === -1) return null
    const here = new Set<number>()
    let placed = false
    for (let at = occurrencesStart(list, nth); at < occurrencesEnd(list, nth); at++) {
      const occurrence = list[at]!
      const field = occurrence >>> 16
      if (matcher.allowed === null || matcher.allowed[field] === 1) here.add(field)
      if (bucketedPosition(occurrence & 0xffff) === position) placed = true
    }
    if (!placed) return null
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

export function exactAttributeRule(matcher: Matcher): RankingRule {
  return function* (docids, graph) {
    const reading = graph === null ? null : exactReading(graph)
    const byRank: [number[], number[], number[]] = [[], [], []]
    for (const docid of docids) {
      const fields = reading === null ? null : fieldsHolding(matcher, reading.words, docid)
      const rank =
        fields === null || reading === null
          ? 1
          : hasLength(matcher.index, docid, fields, reading.positions)
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

export function exactWordsRule(matcher: Matcher): RankingRule {
  return costRule(
    {
      most: (_, to) => idCount(to),
      prices: (_, to, docids) => {
        const exact = exactWords(to) === null ? new DocSet(0) : matcher.exactDocuments(to.term)
        const documents = matcher.documentsOf(to.term, to.subset)
        return Uint16Array.from(docids, (docid) =>
          exact.has(docid) ? 0 : documents.has(docid) ? idCount(to) : IMPOSSIBLE,
        )
      },
      narrowed: (to, price) => (price === 0 ? { levels: 0b001, exactOnly: true } : to.subset),
    },
    (price, most) => ({ rule: 'exactWords', rank: most - price + 1, max: most + 1 }),
  )
}
