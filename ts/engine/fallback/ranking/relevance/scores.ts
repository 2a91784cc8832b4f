/** Scores documents for the terms of a query. */
import { mergedLists } from '../../postings/merged-lists.js'
import type { PostingList } from '../../postings/postings.js'
import type { QueryGraph, TermNode } from '../../query/graph.js'
import type { TermResolver } from '../../query/resolver.js'
import type { Term } from '../../query/term.js'
import { DocSet } from '../../store/docid-set.js'
import {
  ATTACHED_PAIR_WEIGHT,
  FORM_PERCENT,
  frequencyUnits,
  limitedPair,
  PAIR_STEPS_MAX,
  PAIR_WEIGHT,
  pairsMax,
  rarity,
  scoreMax,
  scoreOf,
  TYPO_OF_KNOWN_WORD,
  WEIGHTS,
} from './formula.js'
import type { Pair, UnitsByField } from './nearness.js'
import { type Growth, Sums } from './sums.js'

/**
 * Calls `visit` with documents, attributes, numbers of occurrences, and the hundredths that each counts; once per document,
 * attribute and word. Leaves out documents that are not in `within`, unless it is null.
 */
type Occurrences = (
  visit: (docid: number, field: number, count: number, percent: number) => void,
  within: DocSet | null,
) => void

/** Derivations of a term with the same weight. */
interface Derivations {
  readonly weight: number
  readonly occurrences: Occurrences
}

/** Derivations of a term with the same weight. A document has the best score of all passes of a term. */
interface Pass {
  readonly term: number
  /** The highest possible score. */
  readonly max: number
  readonly occurrences: Occurrences
  /** Frequencies by docid, if they were read to count the documents of the term; otherwise null. */
  readonly read: ReadonlyMap<number, number> | null
}

/** Scores of the documents of an index. They depend on its live documents alone. */
export class Scores {
  readonly units: UnitsByField
  pairs: readonly Pair[] = []
  /** Sum of the highest scores of all terms and pairs. */
  max = 0
  private readonly resolver: TermResolver
  /** Highest possible score first. */
  private readonly passes: Pass[] = []
  /** Weights of the terms among the words of the query; 0 if a term consists of words that count themselves. */
  private readonly weights: number[] = []

  /** @param weights weight of each field */
  constructor(resolver: TermResolver, weights: readonly number[]) {
    this.resolver = resolver
    const units = (field: number, average: number) => frequencyUnits(weights[field]!, average)
    this.units = new Map(
      Array.from(resolver.lengths(), ([field, { average }]) => [field, units(field, average)]),
    )
  }

  /** Reads what the terms of `graph` need. Yields null after each, so that the caller can check the deadline. */
  *prepare(graph: QueryGraph): Generator<null, void> {
    const rarities = new Map<string, number>()
    for (const { term } of distinctNodes(graph)) {
      const rare = this.addTerm(term)
      if (term.spec.ngram === null && term.spec.phrase === null) rarities.set(term.spec.word, rare)
      yield null
    }
    this.passes.sort((a, b) => b.max - a.max)
    const pairs = pairsOf(this.resolver, graph, rarities)
    const words = sumOf(this.weights)
    const most = pairsMax(words, this.weights.filter((weight) => weight > 0).length)
    const all = sumOf(pairs.filter(({ isAttached }) => !isAttached).map(({ max }) => max))
    this.pairs = pairs.map((pair) =>
      pair.isAttached ? pair : { ...pair, max: limitedPair(pair.max, all, most) },
    )
    this.max = words + sumOf(this.pairs.map(({ max }) => max))
  }

  /**
   * Adds the passes of a term. Returns its rarity: of documents with the word or its other forms; if there are none, of
   * documents with any derivation.
   */
  private addTerm(term: Term): number {
    const derivations = derivationsOf(this.resolver, term)
    let read: ReadonlyMap<number, number>[] = []
    let found = documentsWithForms(this.resolver, term)
    if (found === 0) {
      read = derivations.map(({ occurrences }) => this.frequencies(occurrences, null))
      const documents = new DocSet(this.resolver.bound)
      for (const frequencies of read) for (const docid of frequencies.keys()) documents.add(docid)
      found = documents.count()
    }
    const rare = rarity(this.resolver.index.docids.size, found)
    const nth = this.weights.length
    this.weights.push(term.spec.ngram === null ? scoreMax(1, rare) : 0)
    for (const [at, { weight, occurrences }] of derivations.entries())
      this.passes.push({ term: nth, max: scoreMax(weight, rare), occurrences, read: read[at] ?? null })
    return rare
  }

  /**
   * The best `count` of `docids` by their scores without nearness, best first; of equal ones, the smaller docids. Documents
   * without a score are left out, unless there are at most `count` docids.
   *
   * Passes are read from the highest possible score on. Once the passes that are left cannot bring an unseen document
   * among the best, they are read for the documents alone that they still can bring there (MaxScore; Turtle and Flood, 1995).
   */
  *best(docids: Uint32Array, count: number): Generator<null, { docid: number; score: number }[]> {
    const universe = DocSet.of(this.resolver.bound, docids)
    const sums = new Sums(this.resolver.bound, this.weights)
    let candidates: DocSet | null = docids.length <= count ? universe : null
    for (const [at, pass] of this.passes.entries()) {
      this.add(pass, candidates, sums)
      const fewer = sums.candidates(candidates ?? universe, count, this.growthFrom(at + 1))
      if (fewer !== null && candidates === null) sums.keep(fewer)
      candidates = fewer ?? candidates
      yield null
    }
    const found = Array.from((candidates ?? sums.documentsIn(universe)).toArray(), (docid) => ({
      docid,
      score: sums.of(docid),
    }))
    return found.sort((a, b) => b.score - a.score || a.docid - b.docid).slice(0, count)
  }

  /** Scores of all documents without nearness. */
  *all(): Generator<null, Sums> {
    const sums = new Sums(this.resolver.bound, this.weights)
    for (const pass of this.passes) {
      this.add(pass, null, sums)
      yield null
    }
    return sums
  }

  /** How much the passes from `next` on can add to the score of a document. */
  private growthFrom(next: number): Growth {
    const most = this.weights.map(() => 0)
    for (const { term, max } of this.passes.slice(next)) most[term] = Math.max(most[term]!, max)
    return { sum: sumOf(most), found: sumOf(this.weights.filter((_, term) => most[term]! > 0)) }
  }

  /** Adds the scores of a pass, of documents of `within` alone unless it is null. */
  private add({ term, max, occurrences, read }: Pass, within: DocSet | null, sums: Sums): void {
    for (const [docid, frequency] of read ?? this.frequencies(occurrences, within))
      if (within === null || within.has(docid)) sums.add(term, docid, scoreOf(max, frequency))
  }

  private frequencies(occurrences: Occurrences, within: DocSet | null): Map<number, number> {
    const lengths = this.resolver.lengths()
    const found = new Map<number, number>()
    occurrences((docid, field, count, percent) => {
      const unit = Math.floor((this.units.get(field)![lengths.get(field)!.code(docid)]! * percent) / 100)
      found.set(docid, (found.get(docid) ?? 0) + count * unit)
    }, within)
    return found
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0)

/** Number of documents with the word or other forms of it. */
function documentsWithForms(resolver: TermResolver, { exact, forms, isKnown, spec }: Term): number {
  if (!isKnown) return 0
  const isJoined = spec.ngram !== null
  const documents = new DocSet(resolver.bound)
  for (const word of exact === null ? forms : [exact, ...forms])
    documents.union(resolver.documentsOfWord(word, isJoined))
  return documents.count()
}

/** Different pairs of words at most `PAIR_STEPS_MAX` words from each other in the query. */
function pairsOf(resolver: TermResolver, graph: QueryGraph, rarities: ReadonlyMap<string, number>): Pair[] {
  const singles = graph.nodes.filter(({ term }) => term.spec.ngram === null)
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
    for (const at of singles.keys()) {
      if (at < step) continue
      const [left, right] = [singles[at - step]!.term, singles[at]!.term]
      if (left.spec.phrase !== null || right.spec.phrase !== null) continue
      if (pairedWords(left).length === 0 || pairedWords(right).length === 0) continue
      const rare = Math.min(rarities.get(left.spec.word)!, rarities.get(right.spec.word)!)
      const key = `${left.spec.word} ${right.spec.word}`
      if (pairs.has(key)) continue
      const isAttached = singles.slice(at - step + 1, at + 1).every((node) => node.isAttached)
      const weight = isAttached ? ATTACHED_PAIR_WEIGHT : PAIR_WEIGHT
      const max = scoreMax(weight / step, rare)
      pairs.set(key, { left: listOf(left), right: listOf(right), max, isAttached })
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
  const forms: Occurrences = (visit, within) => {
    const each = (text: string, percent: number): void =>
      resolver.visitFields(text, isJoined, within, (docid, field, count) =>
        visit(docid, field, count, percent),
      )
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
  return (visit, within) => {
    const known = new Set<number>()
    for (const word of words)
      resolver.visitFields(word, isDerived, within, (docid, field) => {
        const key = docid * 0x10000 + field
        if (known.has(key)) return
        known.add(key)
        visit(docid, field, 1, 100)
      })
  }
}

/** A phrase counts once in each field that contains its first word. */
function ofPhrases(resolver: TermResolver, phrases: readonly (readonly (string | null)[])[]): Occurrences {
  return (visit, within) => {
    const known = new Set<number>()
    for (const phrase of phrases) {
      const first = phrase.find((word) => word !== null)
      if (first === undefined || first === null) continue
      const documents = resolver.documentsOfPhrase(phrase)
      resolver.visitFields(first, false, within, (docid, field) => {
        const key = docid * 0x10000 + field
        if (!documents.has(docid) || known.has(key)) return
        known.add(key)
        visit(docid, field, 1, 100)
      })
    }
  }
}
