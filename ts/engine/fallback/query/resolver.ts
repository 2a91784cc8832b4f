/**
 * Finds the documents and positions of query terms.
 *
 * A resolver serves a single search over one version of an index. Source: search §3.3, §5.5, §18.
 * 1. Words found by typo, and all derivations of an n-gram, do not match in fields without typo tolerance.
 * 2. `attributesToSearchOn` restricts the fields that match, but not the fields for proximity.
 */
import type { OwnedCache } from '../cache.js'
import { covers } from '../fields/patterns.js'
import type { IndexData } from '../index-data/index-data.js'
import { PINYIN_PAIRS_MAX, SPLIT_COMPLETIONS_MAX } from '../limits.js'
import { type FieldLengths, fieldLengths } from '../postings/field-lengths.js'
import { mergedLists } from '../postings/merged-lists.js'
import { forwardDistance, shareField } from '../postings/nearness.js'
import {
  documentCount,
  EMPTY_LIST,
  find,
  occurrencesEnd,
  occurrencesStart,
  type PostingList,
  type TermDictionary,
} from '../postings/postings.js'
import type { PairSide, PhraseOccurrences } from '../postings/side-cursor.js'
import { DocSet } from '../store/docid-set.js'
import { Forms } from './forms.js'
import type { PhraseWords } from './parse.js'
import { type DerivationKinds, hasTypos, type Term, type TermSource, type TypoCount } from './term.js'
import { type Misspellings, misspellings } from './typos.js'

/** Two halves of a word. Of those in equally many documents, the pair with the least `order` is the best. */
interface WordPair {
  readonly order: number
  readonly left: string
  readonly right: string
  /** Maximum number of documents with both. */
  readonly most: number
}

/** More than the words that the first half of a compound may stand for. */
const FIRST_PARTS_MAX = 16

const TYPO_COUNTS = [0, 1, 2] as const

const NUMERIC_WORD = /^[\p{N}!-/:-@[-`{-~]+$/u

export class TermResolver implements TermSource {
  readonly index: IndexData
  readonly dictionary: TermDictionary
  readonly forms: Forms
  readonly hasDictionaries: boolean
  /** Exclusive upper bound of docids. */
  readonly bound: number
  private readonly cache: OwnedCache
  /** Field → 1 if it is searched; null: all. */
  readonly searched: Uint8Array | null
  /** Field → 1 if it is searched with typo tolerance; null: all. */
  private readonly typoFields: Uint8Array | null
  /** Field → 1 if typo tolerance is off; null: on in all fields. */
  private readonly exactFields: Uint8Array | null
  private readonly exactNumbers: boolean
  private readonly byAttribute: boolean
  /** Query words and n-grams for which every split was looked up in the whole index. */
  readonly splitCandidates = new Set<string>()
  private readonly byTypos = new Map<Term, (DocSet | undefined)[]>()
  private readonly byKinds = new Map<Term, Map<number, DocSet>>()
  private readonly exacts = new Map<Term, DocSet>()
  private readonly phrases = new Map<string, DocSet>()
  private readonly termOccurrences = new Map<Term, Map<number, PairSide>>()

  constructor(index: IndexData, cache: OwnedCache, searched: Uint8Array | null) {
    this.index = index
    this.cache = cache
    this.dictionary = index.text.dictionary
    this.forms = new Forms(this.dictionary, cache, index.settings)
    this.hasDictionaries = Object.keys(index.dictionaries).length > 0
    this.bound = index.alive.words.length * 32
    this.searched = searched
    const { disableOnAttributes, disableOnNumbers } = index.settings.typoTolerance
    this.exactNumbers = disableOnNumbers
    this.byAttribute = index.settings.proximityPrecision === 'byAttribute'
    this.exactFields =
      disableOnAttributes.length === 0
        ? null
        : Uint8Array.from(index.fieldPaths, (path) =>
            disableOnAttributes.some((entry) => covers(entry, path)) ? 1 : 0,
          )
    const exact = this.exactFields
    this.typoFields =
      exact === null
        ? searched
        : exact.map((off, field) => (off === 0 && (searched === null || searched[field] === 1) ? 1 : 0))
  }

  allowsTypos(word: string): boolean {
    if (this.exactNumbers && NUMERIC_WORD.test(word)) return false
    if (this.exactFields === null) return true
    const list = this.list(word)
    for (let at = 1 + 2 * list[0]!; at < list.length; at++)
      if (this.exactFields[list[at]! >>> 16] === 0) return true
    return false
  }

  // ——— documents ———

  /** Documents with a word. @param isDerived true if the query does not contain the word itself */
  documentsOfWord(word: string, isDerived: boolean): DocSet {
    const found = new DocSet(this.bound)
    this.addDocuments(found, word, isDerived)
    return found
  }

  private addDocuments(found: DocSet, word: string, isDerived: boolean): void {
    const list = this.dictionary.get(word)
    if (list === undefined || (isDerived && this.exactNumbers && NUMERIC_WORD.test(word))) return
    addListed(found, list, isDerived ? this.typoFields : this.searched)
  }

  /** Documents with a derivation of a term that has exactly `typos` typos. */
  documentsByTypos(term: Term, typos: TypoCount): DocSet {
    const known = this.byTypos.get(term) ?? []
    this.byTypos.set(term, known)
    let found = known[typos]
    if (found === undefined) {
      found = this.collectByTypos(term, typos)
      known[typos] = found
    }
    return found
  }

  private collectByTypos(term: Term, typos: TypoCount): DocSet {
    const found = new DocSet(this.bound)
    for (const phrase of term.phrases(typos)) found.union(this.documentsOfPhrase(phrase))
    if (typos === 0) {
      found.union(this.documentsOfCompletions(term))
      return found
    }
    for (const word of typos === 1 ? term.oneTypo : term.twoTypos) this.addDocuments(found, word, true)
    if (typos === 1) for (const word of term.forms) this.addDocuments(found, word, term.spec.ngram !== null)
    return found
  }

  /** Documents with the word itself or a completion. */
  documentsOfCompletions(term: Term): DocSet {
    const found = new DocSet(this.bound)
    const isDerived = term.spec.ngram !== null
    if (term.exact !== null) this.addDocuments(found, term.exact, isDerived)
    const mask = isDerived ? this.typoFields : this.searched
    if (term.usesShortPrefix && mask === null && !this.exactNumbers)
      addListed(found, this.completionList(term), null)
    else for (const word of term.completions) this.addDocuments(found, word, isDerived)
    return found
  }

  /** Documents with the word itself or the quoted phrase. */
  exactDocuments(term: Term): DocSet {
    let found = this.exacts.get(term)
    if (found === undefined) {
      const { phrase, ngram } = term.spec
      found =
        phrase !== null
          ? this.documentsOfPhrase(phrase)
          : term.exact === null || ngram !== null
            ? new DocSet(this.bound)
            : this.documentsOfWord(term.exact, false)
      this.exacts.set(term, found)
    }
    return found
  }

  /** Documents with any derivation in `kinds`. The set belongs to the resolver. */
  documentsOf(term: Term, kinds: DerivationKinds): DocSet {
    if (kinds.exactOnly) return this.exactDocuments(term)
    const known = this.byKinds.get(term) ?? new Map<number, DocSet>()
    this.byKinds.set(term, known)
    let found = known.get(kinds.typoCounts)
    if (found === undefined) {
      const sets = TYPO_COUNTS.filter((typos) => hasTypos(kinds, typos)).map((typos) =>
        this.documentsByTypos(term, typos),
      )
      found = sets.length === 1 ? sets[0]! : unionOf(sets, this.bound)
      known.set(kinds.typoCounts, found)
    }
    return found
  }

  /**
   * Documents that probably contain a phrase: neighbours are checked in windows of three words. Source: search §5.5.
   */
  documentsOfPhrase(words: PhraseWords): DocSet {
    const key = words.join('\u0000')
    let found = this.phrases.get(key)
    if (found === undefined) {
      found = this.phraseDocuments(words)
      this.phrases.set(key, found)
    }
    return found
  }

  private phraseDocuments(words: PhraseWords): DocSet {
    let found: DocSet | null = null
    for (const word of words) {
      if (word === null) continue
      const documents = this.documentsOfWord(word, false)
      found = found === null ? documents : found.intersect(documents)
    }
    let left = found ?? new DocSet(this.bound)
    for (const [at, word] of words.entries())
      for (const gap of [1, 2]) {
        const other = words[at + gap]
        if (word === null || other === null || other === undefined) continue
        left = this.pairDocuments(word, other, gap, left)
      }
    return left
  }

  /** Documents of `within` where `right` follows `left` by at most `most` positions. */
  private pairDocuments(left: string, right: string, most: number, within: DocSet): DocSet {
    const found = new DocSet(this.bound)
    const lefts = this.list(left)
    const rights = this.list(right)
    for (const docid of within.toArray()) {
      const [a, b] = [find(lefts, docid), find(rights, docid)]
      if (a === -1 || b === -1) continue
      const near = this.byAttribute
        ? shareField(lefts, a, rights, b)
        : forwardDistance(lefts, a, rights, b) <= most
      if (near) found.add(docid)
    }
    return found
  }

  // ——— typos ———

  misspellings(word: string, budget: number, isPrefix: boolean): Misspellings {
    const accepts = (candidate: string): boolean => this.allowsTypos(candidate)
    return this.cache.get('misspellings', `${budget}${Number(isPrefix)}${word}`, () =>
      misspellings(this.dictionary, word, { budget, isPrefix, accepts }),
    )
  }

  // ——— splits ———

  /**
   * Best split of a word. Splits are tried in descending order of the document count of their rarer half, so that few
   * pairs have to be counted.
   */
  split(word: string): readonly [string, string] | null {
    this.splitCandidates.add(word)
    return this.cache.get('splits', word, () => this.bestSplit(word))
  }

  private bestSplit(word: string): readonly [string, string] | null {
    const { compounds } = this.forms
    const cuts: WordPair[] = []
    const characters = Array.from(word)
    for (let at = 1; at < characters.length; at++) {
      const [start, right] = [characters.slice(0, at).join(''), characters.slice(at).join('')]
      const rights = this.dictionary.get(right)
      if (rights === undefined) continue
      for (const [part, left] of (compounds?.firstParts(start) ?? [start]).entries()) {
        if (part > 0 && !(compounds!.isPart(left) && compounds!.isPart(right))) continue
        const lefts = this.dictionary.get(left)
        if (lefts === undefined) continue
        const most = Math.min(documentCount(lefts), documentCount(rights))
        cuts.push({ order: at * FIRST_PARTS_MAX + part, left, right, most })
      }
    }
    return this.bestPair(cuts)
  }

  private bestPair(pairs: readonly WordPair[]): readonly [string, string] | null {
    const sorted = pairs.toSorted((a, b) => b.most - a.most || a.order - b.order)
    let best: { order: number; count: number; words: readonly [string, string] } | null = null
    for (const { order, left, right, most } of sorted) {
      if (best !== null && most < best.count) break
      const count = this.countPairs(left, right)
      if (count > 0 && (best === null || count > best.count || (count === best.count && order < best.order)))
        best = { order, count, words: [left, right] }
    }
    return best?.words ?? null
  }

  completedSplit(texts: readonly string[], excluded: string | null): readonly [string, string] | null {
    const pairs: WordPair[] = []
    for (const characters of texts.map((text) => Array.from(text)))
      for (let at = 1; at < characters.length; at++) {
        const [left, start] = [characters.slice(0, at).join(''), characters.slice(at).join('')]
        const lefts = left === excluded ? undefined : this.dictionary.get(left)
        if (lefts === undefined) continue
        const [from, to] = this.dictionary.prefixRange(start)
        for (const right of this.dictionary.sorted.slice(from, Math.min(to, from + SPLIT_COMPLETIONS_MAX))) {
          const most = Math.min(documentCount(lefts), documentCount(this.list(right)))
          pairs.push({ order: pairs.length, left, right, most })
        }
      }
    return this.bestPair(pairs)
  }

  halvesReadAs(word: string, isPrefix: boolean): readonly [string, string] | null {
    return this.cache.get('halves', `${Number(isPrefix)}${word}`, () => {
      const pairs = this.forms.halvesReadAs(word, isPrefix).map(([left, right], order) => {
        const most = Math.min(documentCount(this.list(left)), documentCount(this.list(right)))
        return { order, left, right, most }
      })
      const frequent = pairs.sort((a, b) => b.most - a.most || a.order - b.order)
      return this.bestPair(frequent.slice(0, PINYIN_PAIRS_MAX))
    })
  }

  /** Number of documents in which `right` directly follows `left`. */
  private countPairs(left: string, right: string): number {
    const [lefts, rights] = [this.list(left), this.list(right)]
    let count = 0
    let [a, b] = [0, 0]
    while (a < lefts[0]! && b < rights[0]!) {
      const difference = lefts[1 + a]! - rights[1 + b]!
      if (difference < 0) a++
      else if (difference > 0) b++
      else {
        const near = this.byAttribute
          ? shareField(lefts, a, rights, b)
          : forwardDistance(lefts, a, rights, b) === 1
        if (near) count++
        a++
        b++
      }
    }
    return count
  }

  /** Words of each field of the documents, for the rule `relevance`. */
  lengths(): ReadonlyMap<number, FieldLengths> {
    return this.cache.get('lengths', '', () => fieldLengths(this.dictionary, this.bound))
  }

  /**
   * Calls `visit` with the documents, searched fields and numbers of occurrences of a word, once per document and
   * field. @param isDerived see `documentsOfWord` @param within other documents are left out; null: none are
   */
  visitFields(
    word: string,
    isDerived: boolean,
    within: DocSet | null,
    visit: (docid: number, field: number, count: number) => void,
  ): void {
    if (isDerived && this.exactNumbers && NUMERIC_WORD.test(word)) return
    const list = this.list(word)
    const mask = isDerived ? this.typoFields : this.searched
    for (let nth = 0; nth < list[0]!; nth++) {
      if (within !== null && !within.has(list[1 + nth]!)) continue
      const end = occurrencesEnd(list, nth)
      for (let at = occurrencesStart(list, nth); at < end; ) {
        const field = list[at]! >>> 16
        const start = at
        while (at < end && list[at]! >>> 16 === field) at++
        if (mask === null || mask[field] === 1) visit(list[1 + nth]!, field, at - start)
      }
    }
  }

  // ——— positions ———

  list(word: string): PostingList {
    return this.dictionary.get(word) ?? EMPTY_LIST
  }

  /** Occurrences of a list in a document, ascending, in the searched fields. @param isDerived see `documentsOfWord` */
  occurrencesIn(docid: number, list: PostingList, isDerived: boolean): readonly number[] {
    const nth = find(list, docid)
    if (nth === -1) return []
    const mask = isDerived ? this.typoFields : this.searched
    const all = Array.from(list.subarray(occurrencesStart(list, nth), occurrencesEnd(list, nth)))
    return mask === null ? all : all.filter((occurrence) => mask[occurrence >>> 16] === 1)
  }

  /** Occurrences of all derivations in `kinds`. */
  occurrences(term: Term, kinds: DerivationKinds): PairSide {
    const known = this.termOccurrences.get(term) ?? new Map<number, PairSide>()
    this.termOccurrences.set(term, known)
    const key = kinds.exactOnly ? -1 : kinds.typoCounts
    let found = known.get(key)
    if (found === undefined) {
      found = this.collectOccurrences(term, kinds)
      known.set(key, found)
    }
    return found
  }

  private collectOccurrences(term: Term, kinds: DerivationKinds): PairSide {
    const { words, usesCompletions, phrases } = this.wordsOf(term, kinds)
    return {
      words: this.union(words),
      completions: usesCompletions ? this.completionList(term) : EMPTY_LIST,
      phrases: phrases.map((phrase) => this.phraseOccurrences(phrase)),
    }
  }

  /** Words and phrases in `kinds`. `usesCompletions` is true if all completions of a short prefix are included. */
  wordsOf(
    term: Term,
    kinds: DerivationKinds,
  ): {
    readonly words: readonly string[]
    readonly usesCompletions: boolean
    readonly phrases: readonly PhraseWords[]
  } {
    const words: string[] = []
    const phrases: PhraseWords[] = []
    if (kinds.exactOnly) {
      if (term.spec.phrase !== null) phrases.push(term.spec.phrase)
      else if (term.exact !== null && term.spec.ngram === null) words.push(term.exact)
      // A short prefix is looked up as a unit, so even the exact word includes its completions.
      return { words, usesCompletions: words.length > 0 && term.usesShortPrefix, phrases }
    }
    const usesCompletions = hasTypos(kinds, 0) && term.usesShortPrefix
    if (hasTypos(kinds, 0)) {
      if (term.exact !== null) words.push(term.exact)
      if (!usesCompletions) words.push(...term.completions)
    }
    if (hasTypos(kinds, 1)) words.push(...term.forms, ...term.oneTypo)
    if (hasTypos(kinds, 2)) words.push(...term.twoTypos)
    for (const typos of [0, 1, 2] as const) if (hasTypos(kinds, typos)) phrases.push(...term.phrases(typos))
    return { words, usesCompletions, phrases }
  }

  private phraseOccurrences(phrase: PhraseWords): PhraseOccurrences {
    const listOf = (word: string | null | undefined): PostingList =>
      typeof word === 'string' ? this.list(word) : EMPTY_LIST
    return {
      documents: this.documentsOfPhrase(phrase),
      firstWord: listOf(phrase.find((word) => word !== null)),
      first: listOf(phrase[0]),
      last: listOf(phrase.at(-1)),
    }
  }

  /** Occurrences of all of these words. */
  private union(words: readonly string[]): PostingList {
    const merged = () =>
      mergedLists(
        words.map((word) => this.list(word)),
        this.bound,
      )
    // The list of a single word is not copied.
    return words.length <= 1 ? merged() : this.cache.get('unions', words.join('\u0000'), merged)
  }

  completionList(term: Term): PostingList {
    return this.cache.get('completions', term.spec.word, () =>
      mergedLists(
        term.completions.map((word) => this.list(word)),
        this.bound,
      ),
    )
  }
}

function unionOf(sets: readonly DocSet[], bound: number): DocSet {
  const found = new DocSet(bound)
  for (const set of sets) found.union(set)
  return found
}

function addListed(found: DocSet, list: PostingList, mask: Uint8Array | null): void {
  const count = list[0]!
  if (mask === null) {
    for (let nth = 1; nth <= count; nth++) found.add(list[nth]!)
    return
  }
  let at = 1 + 2 * count
  for (let nth = 0; nth < count; nth++) {
    const end = occurrencesEnd(list, nth)
    let hit = false
    for (; at < end; at++) if (mask[list[at]! >>> 16] === 1) hit = true
    if (hit) found.add(list[1 + nth]!)
  }
}
