/** Scores all documents of an index for the terms of a query. */
import type { QueryGraph, TermNode } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import type { Term } from '../../query/term.js'
import { DocSet } from '../../store/docid-set.js'
import {
  frequencyUnits,
  PAIR_WEIGHT,
  rarity,
  scoreMax,
  scoreOf,
  TYPO_OF_KNOWN_WORD,
  WEIGHTS,
} from './formula.js'
import type { Pair, UnitsByField } from './nearness.js'

/** Scores of documents. */
export interface Scores {
  /** By docid. */
  readonly sums: Float64Array
  /** Sum of the highest scores of all terms and pairs. */
  readonly max: number
  readonly pairs: readonly Pair[]
  readonly units: UnitsByField
}

/** Calls `visit` with documents, attributes and numbers of occurrences; once per document and attribute. */
type Occurrences = (visit: (docid: number, field: number, count: number) => void) => void

/** Derivations of a term with the same weight. */
interface Derivations {
  readonly weight: number
  readonly occurrences: Occurrences
}

/**
 * Scores terms one by one. Yields null after each, so that the caller can check the deadline.
 * @param weights weight of each field
 */
export function* scored(
  resolver: TermResolver,
  graph: QueryGraph,
  weights: readonly number[],
): Generator<null, Scores> {
  const lengths = resolver.lengths()
  const units = new Map(
    Array.from(lengths, ([field, { average }]) => [field, frequencyUnits(weights[field]!, average)]),
  )
  const sums = new Float64Array(resolver.bound)
  const total = resolver.index.docids.size
  const rarities = new Map<string, number>()
  let max = 0
  for (const { term } of distinctNodes(graph)) {
    const derivations = derivationsOf(resolver, term)
    const frequencies = derivations.map(({ occurrences }) => {
      const found = new Map<number, number>()
      occurrences((docid, field, count) => {
        const unit = units.get(field)![lengths.get(field)!.code(docid)]!
        found.set(docid, (found.get(docid) ?? 0) + count * unit)
      })
      return found
    })
    const documents = new DocSet(resolver.bound)
    for (const found of frequencies) for (const docid of found.keys()) documents.add(docid)
    const rare = rarity(total, documents.count())
    const best = new Map<number, number>()
    for (const [at, found] of frequencies.entries()) {
      const highest = scoreMax(derivations[at]!.weight, rare)
      for (const [docid, frequency] of found) {
        const score = scoreOf(highest, frequency)
        if (score > (best.get(docid) ?? 0)) best.set(docid, score)
      }
    }
    for (const [docid, score] of best) sums[docid] = sums[docid]! + score
    if (term.spec.ngram === null) max += scoreMax(1, rare)
    if (term.exact !== null && term.spec.ngram === null) rarities.set(term.exact, rare)
    yield null
  }
  const pairs = pairsOf(graph, rarities)
  for (const pair of pairs) max += pair.max
  return { sums, max, pairs, units }
}

/** Different pairs of neighbouring words that the index contains. */
function pairsOf(graph: QueryGraph, rarities: ReadonlyMap<string, number>): Pair[] {
  const singles = graph.nodes.filter(({ term }) => term.spec.ngram === null)
  const pairs = new Map<string, Pair>()
  for (const [at, { term }] of singles.entries()) {
    const [left, right] = [singles[at - 1]?.term.exact ?? null, term.exact]
    if (left === null || right === null) continue
    const rare = Math.min(rarities.get(left)!, rarities.get(right)!)
    pairs.set(`${left} ${right}`, { left, right, max: scoreMax(PAIR_WEIGHT, rare) })
  }
  return [...pairs.values()]
}

/** Nodes with different texts; single words before joined ones. */
function distinctNodes(graph: QueryGraph): TermNode[] {
  const known = new Set<string>()
  const isNew = ({ term: { spec } }: TermNode): boolean => {
    const key = spec.phrase === null ? spec.word : `"${spec.phrase.join('\u0000')}`
    if (known.has(key)) return false
    known.add(key)
    return true
  }
  const isJoined = ({ term }: TermNode): boolean => term.spec.ngram !== null
  return [
    ...graph.nodes.filter((node) => !isJoined(node) && isNew(node)),
    ...graph.nodes.filter((node) => isJoined(node) && isNew(node)),
  ]
}

function derivationsOf(resolver: TermResolver, term: Term): Derivations[] {
  const { spec, exact } = term
  const word = (text: string, isDerived: boolean): Occurrences => {
    return (visit) => resolver.visitFields(text, isDerived, visit)
  }
  if (spec.ngram !== null)
    return exact === null ? [] : [{ weight: WEIGHTS.joined, occurrences: word(exact, true) }]
  const found: Derivations[] = []
  if (exact !== null) found.push({ weight: WEIGHTS.exact, occurrences: word(exact, false) })
  if (spec.phrase !== null)
    found.push({ weight: WEIGHTS.exact, occurrences: ofPhrases(resolver, [spec.phrase]) })
  const add = (weight: number, words: readonly string[], isDerived: boolean): void => {
    if (words.length > 0) found.push({ weight, occurrences: onceEach(resolver, words, isDerived) })
  }
  if (term.completions.length > 0)
    add(WEIGHTS.prefix, exact === null ? term.completions : [exact, ...term.completions], false)
  if (spec.synonyms.length > 0)
    found.push({ weight: WEIGHTS.synonym, occurrences: ofPhrases(resolver, spec.synonyms) })
  if (term.split !== null)
    found.push({ weight: WEIGHTS.split, occurrences: ofPhrases(resolver, [term.split]) })
  const part = exact === null ? 1 : TYPO_OF_KNOWN_WORD
  const length = Array.from(spec.word).length
  const isWhole = (typos: number) => (candidate: string) => Array.from(candidate).length <= length + typos
  const isLonger = (typos: number) => (candidate: string) => !isWhole(typos)(candidate)
  add(WEIGHTS.oneTypo * part, term.oneTypo.filter(isWhole(1)), true)
  add(WEIGHTS.twoTypos * part, term.twoTypos.filter(isWhole(2)), true)
  const longer = [...term.oneTypo.filter(isLonger(1)), ...term.twoTypos.filter(isLonger(2))]
  add(WEIGHTS.misspeltPrefix * part, longer, true)
  return found
}

/** A field of a document counts once, however often words of the set occur in it. */
function onceEach(resolver: TermResolver, words: readonly string[], isDerived: boolean): Occurrences {
  return (visit) => {
    const known = new Set<number>()
    for (const word of words)
      resolver.visitFields(word, isDerived, (docid, field) => {
        const key = docid * 0x10000 + field
        if (known.has(key)) return
        known.add(key)
        visit(docid, field, 1)
      })
  }
}

/** A phrase counts once in each field that contains its first word. */
function ofPhrases(resolver: TermResolver, phrases: readonly (readonly (string | null)[])[]): Occurrences {
  return (visit) => {
    const known = new Set<number>()
    for (const phrase of phrases) {
      const first = phrase.find((word) => word !== null)
      if (first === undefined || first === null) continue
      const documents = resolver.documentsOfPhrase(phrase)
      resolver.visitFields(first, false, (docid, field) => {
        const key = docid * 0x10000 + field
        if (!documents.has(docid) || known.has(key)) return
        known.add(key)
        visit(docid, field, 1)
      })
    }
  }
}
