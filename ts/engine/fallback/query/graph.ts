/**
 * Builds the graph of all readings of a query.
 *
 * Source: search §5.3 and §6. A path from start to end is a reading: single words, or neighbouring words joined to
 * n-grams.
 * 1. Two or three neighbouring words form an n-gram; phrases are never part of an n-gram.
 * 2. A reading continues with any node that starts at the next word.
 * 3. Nodes are numbered by their last word, shorter nodes first; readings are tried in this order.
 */

import type { MatchingStrategy } from '../../requests.js'
import { SYNONYM_WORDS_MAX, SYNONYMS_MAX, WORD_BYTES_MAX } from '../limits.js'
import type { ParsedTerm, PhraseWords } from './parse.js'
import type { Synonyms } from './synonyms.js'
import { ALL_KINDS, type DerivationKinds, hasTypos, Term, type TermSource } from './term.js'

/** A term in the query: ids and positions are inclusive ranges. */
export interface TermNode {
  readonly term: Term
  readonly kinds: DerivationKinds
  readonly firstId: number
  readonly lastId: number
  readonly firstPosition: number
  readonly lastPosition: number
  /** True if no separator is between it and the query term before. */
  readonly isAttached: boolean
}

/** Number of query terms that a node covers. */
export const widthOf = (node: TermNode): number => node.lastId - node.firstId + 1

/** Exact words of a node, null if none is in play. */
export function exactWords({ term, kinds }: TermNode): PhraseWords | null {
  if (term.spec.ngram !== null || !hasTypos(kinds, 0)) return null
  if (term.spec.phrase !== null) return term.spec.phrase
  return term.exact === null ? null : [term.exact]
}

/** Nodes in creation order. `successors[i]` are the successors of node i; `END` ends a path. */
export interface QueryGraph {
  readonly nodes: readonly TermNode[]
  /** Successors of the start. */
  readonly first: readonly number[]
  readonly successors: readonly (readonly number[])[]
}

export const END = -1

/** Settings that affect the graph. */
interface GraphSettings {
  /** Maximum typos of a word. */
  readonly budgetOf: (word: string) => number
  /** Normalised words joined by a space → alternatives. */
  readonly synonyms: Synonyms
  /** Decides how many words are joined, and if joined words are completed and corrected. */
  readonly strategy: MatchingStrategy
}

const NGRAM_MAX = 3
/** With the matching strategy `any`, the cost of a word is what counts: three words are not joined. */
const NGRAM_MAX_OF_ANY = 2

export function buildGraph(
  terms: readonly ParsedTerm[],
  source: TermSource,
  settings: GraphSettings,
): QueryGraph {
  const nodes: TermNode[] = []
  for (let id = 0; id < terms.length; id++) {
    nodes.push(singleNode(terms[id]!, id, source, settings))
    const sizeMax = settings.strategy === 'any' ? NGRAM_MAX_OF_ANY : NGRAM_MAX
    for (let size = 2; size <= sizeMax && size <= id + 1; size++) {
      const ngram = ngramNode(terms.slice(id - size + 1, id + 1), id, source, settings)
      if (ngram !== null) nodes.push(ngram)
    }
  }
  const following = (lastId: number): number[] => {
    const starts = nodes.map((node) => node.firstId).filter((id) => id > lastId)
    if (starts.length === 0) return [END]
    const next = Math.min(...starts)
    return Array.from(nodes.keys()).filter((at) => nodes[at]!.firstId === next)
  }
  return { nodes, first: following(-1), successors: nodes.map((node) => following(node.lastId)) }
}

function singleNode(parsed: ParsedTerm, id: number, source: TermSource, settings: GraphSettings): TermNode {
  const term =
    parsed.kind === 'phrase'
      ? new Term(
          {
            word: '',
            phrase: parsed.words,
            ngram: null,
            isPrefix: false,
            budget: 0,
            synonyms: [],
            isSplit: false,
            isAttached: false,
          },
          source,
        )
      : new Term(
          {
            word: parsed.word,
            phrase: null,
            ngram: null,
            isPrefix: parsed.isPrefix,
            budget: settings.budgetOf(parsed.word),
            synonyms: limited(settings.synonyms.get(parsed.word) ?? []),
            isSplit: true,
            isAttached: false,
          },
          source,
        )
  return {
    term,
    kinds: ALL_KINDS,
    firstId: id,
    lastId: id,
    firstPosition: parsed.start,
    lastPosition: parsed.end,
    isAttached: parsed.kind === 'word' && parsed.isAttached,
  }
}

function ngramNode(
  parts: readonly ParsedTerm[],
  lastId: number,
  source: TermSource,
  settings: GraphSettings,
): TermNode | null {
  const words: string[] = []
  let isAttached = true
  for (const [at, part] of parts.entries()) {
    if (part.kind === 'phrase') return null
    if (at > 0 && parts[at - 1]!.end + 1 !== part.start) return null
    if (at > 0) isAttached &&= part.isAttached
    words.push(part.word)
  }
  const word = words.join('')
  if (Buffer.byteLength(word) > WORD_BYTES_MAX) return null
  const last = parts.at(-1)!
  const isPlain = settings.strategy === 'any'
  const term = new Term(
    {
      word,
      phrase: null,
      ngram: words,
      isPrefix: !isPlain && last.kind === 'word' && last.isPrefix,
      budget: isPlain ? 0 : Math.max(0, settings.budgetOf(word) - (parts.length - 1)),
      synonyms: limited([
        ...(settings.synonyms.get(word) ?? []),
        ...(settings.synonyms.get(words.join(' ')) ?? []),
      ]),
      isSplit: !isPlain,
      isAttached,
    },
    source,
  )
  return {
    term,
    kinds: ALL_KINDS,
    firstId: lastId - parts.length + 1,
    lastId,
    firstPosition: parts[0]!.start,
    lastPosition: last.end,
    isAttached: parts[0]!.kind === 'word' && parts[0]!.isAttached,
  }
}

function limited(synonyms: readonly PhraseWords[]): PhraseWords[] {
  const kept: PhraseWords[] = []
  let words = 0
  for (const synonym of synonyms) {
    if (kept.length === SYNONYMS_MAX || words + synonym.length > SYNONYM_WORDS_MAX) break
    words += synonym.length
    kept.push(synonym)
  }
  return kept
}

/** A node of a path, with the derivations that a rule left in play. */
export interface PathStep {
  readonly node: TermNode
  readonly kinds: DerivationKinds
}

/** Graph of exactly these readings; equal endings are shared. */
export function graphOfPaths(paths: Iterable<readonly PathStep[]>): QueryGraph {
  const nodes: TermNode[] = []
  const successors: number[][] = []
  const first: number[] = []
  const known = new Map<Term, Map<string, number>>()
  for (const path of paths) {
    let next = END
    for (const { node, kinds } of path.toReversed()) {
      const key = `${kinds.typoCounts} ${kinds.exactOnly} ${next}`
      const ofTerm = known.get(node.term) ?? new Map<string, number>()
      known.set(node.term, ofTerm)
      let at = ofTerm.get(key)
      if (at === undefined) {
        at = nodes.length
        nodes.push({ ...node, kinds })
        successors.push([next])
        ofTerm.set(key, at)
      }
      next = at
    }
    if (!first.includes(next)) first.push(next)
  }
  return { nodes, first, successors }
}

/** Removal group of each node, null if it is never dropped. Source: search §6.3. */
export function removalGroups(
  graph: QueryGraph,
  strategy: MatchingStrategy,
  frequencyOf: (id: number) => number,
): (number | null)[] {
  if (strategy === 'all') return graph.nodes.map(() => null)
  if (strategy === 'any') return graph.nodes.map(() => 1)
  const ids = [...new Set(graph.nodes.flatMap(idsOf))].sort((a, b) => a - b)
  const order = strategy === 'last' ? orderFromEnd(ids) : orderByFrequency(ids, frequencyOf)
  const keys = graph.nodes.map((node) =>
    node.term.spec.phrase !== null ? null : Math.max(...idsOf(node).map((id) => order.get(id)!)),
  )
  if (keys.includes(null)) return keys
  const last = Math.max(...keys.map((key) => key!))
  return keys.map((key) => (key === last ? null : key))
}

const idsOf = (node: TermNode): number[] =>
  Array.from({ length: widthOf(node) }, (_, step) => node.firstId + step)

function orderFromEnd(ids: readonly number[]): Map<number, number> {
  const lastId = ids.at(-1) ?? 0
  return new Map(ids.map((id) => [id, lastId - id + 1]))
}

/** Most frequent first. Words without documents come before all others. */
function orderByFrequency(ids: readonly number[], frequencyOf: (id: number) => number): Map<number, number> {
  const frequencies = new Map(ids.map((id) => [id, frequencyOf(id) || Number.POSITIVE_INFINITY]))
  const ranks = [...new Set(frequencies.values())].sort((a, b) => b - a)
  return new Map(ids.map((id) => [id, ranks.indexOf(frequencies.get(id)!)]))
}
