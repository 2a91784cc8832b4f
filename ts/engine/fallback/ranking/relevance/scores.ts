/** Scores all documents of an index for the terms of a query. */
import { mergedLists, type PostingList } from '../../postings/postings.js'
import type { QueryGraph, TermNode } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import type { Term } from '../../query/term.js'
import { DocSet } from '../../store/docid-set.js'
import {
  covered,
  FORM_PERCENT,
  frequencyUnits,
  PAIR_STEPS_MAX,
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

/**
 * Calls `visit` with documents, attributes, numbers of occurrences, and the hundredths that each counts; once per document,
 * attribute and word.
 */
type Occurrences = (visit: (docid: number, field: number, count: number, percent: number) => void) => void

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
  /** Weight of the words found, by docid. */
  const weightsFound = new Float64Array(resolver.bound)
  const total = resolver.index.docids.size
  const rarities = new Map<string, number>()
  let max = 0
  for (const { term } of distinctNodes(graph)) {
    const derivations = derivationsOf(resolver, term)
    const frequencies = derivations.map(({ occurrences }) => {
      const found = new Map<number, number>()
      occurrences((docid, field, count, percent) => {
        const unit = Math.floor((units.get(field)![lengths.get(field)!.code(docid)]! * percent) / 100)
        found.set(docid, (found.get(docid) ?? 0) + count * unit)
      })
      return found
    })
    const rare = rarity(total, documentsOf(resolver, term, frequencies))
    const best = new Map<number, number>()
    for (const [at, found] of frequencies.entries()) {
      const highest = scoreMax(derivations[at]!.weight, rare)
      for (const [docid, frequency] of found) {
        const score = scoreOf(highest, frequency)
        if (score > (best.get(docid) ?? 0)) best.set(docid, score)
      }
    }
    // Joined words count themselves.
    const weight = term.spec.ngram === null ? scoreMax(1, rare) : 0
    for (const [docid, score] of best) {
      sums[docid] = sums[docid]! + score
      weightsFound[docid] = weightsFound[docid]! + weight
    }
    max += weight
    if (term.spec.ngram === null && term.spec.phrase === null) rarities.set(term.spec.word, rare)
    yield null
  }
  for (const [docid, sum] of sums.entries())
    if (sum > 0) sums[docid] = covered(sum, weightsFound[docid]!, max)
  const pairs = pairsOf(resolver, graph, rarities)
  for (const pair of pairs) max += pair.max
  return { sums, max, pairs, units }
}

/** Number of documents with the word or other forms of it; if there is none, with any derivation. */
function documentsOf(
  resolver: TermResolver,
  term: Term,
  frequencies: readonly ReadonlyMap<number, number>[],
): number {
  const [first] = frequencies
  if (term.isKnown && first !== undefined && first.size > 0) return first.size
  const documents = new DocSet(resolver.bound)
  for (const found of frequencies) for (const docid of found.keys()) documents.add(docid)
  return documents.count()
}

/** Different pairs of words at most `PAIR_STEPS_MAX` words from each other in the query. */
function pairsOf(resolver: TermResolver, graph: QueryGraph, rarities: ReadonlyMap<string, number>): Pair[] {
  const singles = graph.nodes.filter(({ term }) => term.spec.ngram === null).map(({ term }) => term)
  const pairs = new Map<string, Pair>()
  const lists = new Map<string, PostingList>()
  const listOf = (term: Term): PostingList => {
    const known = lists.get(term.spec.word)
    if (known !== undefined) return known
    const words = pairedWords(term)
    const made =
      words.length === 1
        ? resolver.list(words[0]!)
        : mergedLists(
            words.map((word) => resolver.list(word)),
            resolver.bound,
          )
    lists.set(term.spec.word, made)
    return made
  }
  for (let step = 1; step <= PAIR_STEPS_MAX; step++)
    for (const [at, right] of singles.entries()) {
      const left = singles[at - step]
      if (left === undefined || left.spec.phrase !== null || right.spec.phrase !== null) continue
      if (pairedWords(left).length === 0 || pairedWords(right).length === 0) continue
      const rare = Math.min(rarities.get(left.spec.word)!, rarities.get(right.spec.word)!)
      const key = `${left.spec.word} ${right.spec.word}`
      if (pairs.has(key)) continue
      pairs.set(key, { left: listOf(left), right: listOf(right), max: scoreMax(PAIR_WEIGHT / step, rare) })
    }
  return [...pairs.values()]
}

/**
 * Words that may be a part of a pair: the word and its other forms; if the index has none, words at one edit, else at two,
 * without misspelt completions.
 */
function pairedWords(term: Term): readonly string[] {
  if (term.isKnown) return term.exact === null ? term.forms : [term.exact, ...term.forms]
  const oneTypo = term.oneTypo.filter(isWhole(term, 1))
  return oneTypo.length > 0 ? oneTypo : term.twoTypos.filter(isWhole(term, 2))
}

/** Tells if a word can be the complete word with this number of typos, and not a longer word that continues it. */
function isWhole({ spec }: Term, typos: number): (candidate: string) => boolean {
  const length = Array.from(spec.word).length + typos
  return (candidate) => !spec.isPrefix || Array.from(candidate).length <= length
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
  const isJoined = spec.ngram !== null
  const forms: Occurrences = (visit) => {
    const each = (text: string, percent: number): void =>
      resolver.visitFields(text, isJoined, (docid, field, count) => visit(docid, field, count, percent))
    if (exact !== null) each(exact, 100)
    for (const form of term.forms) each(form, FORM_PERCENT)
  }
  if (isJoined) return term.isKnown ? [{ weight: WEIGHTS.joined, occurrences: forms }] : []
  const found: Derivations[] = []
  if (term.isKnown) found.push({ weight: WEIGHTS.exact, occurrences: forms })
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
  const part = term.isKnown ? TYPO_OF_KNOWN_WORD : 1
  const [oneTypo, twoTypos] = [isWhole(term, 1), isWhole(term, 2)]
  add(WEIGHTS.oneTypo * part, term.oneTypo.filter(oneTypo), true)
  add(WEIGHTS.twoTypos * part, term.twoTypos.filter(twoTypos), true)
  const longer = [
    ...term.oneTypo.filter((candidate) => !oneTypo(candidate)),
    ...term.twoTypos.filter((candidate) => !twoTypos(candidate)),
  ]
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
        visit(docid, field, 1, 100)
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
        visit(docid, field, 1, 100)
      })
    }
  }
}
