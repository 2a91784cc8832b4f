/**
 * Which documents does a term match, and where does it stand in them?
 *
 * One resolver answers for one search over one version of an index. Source: search §3.3,
 * §5.5, §18.
 *  1. Words found by typo, and everything an n-gram stands for, do not match in fields without typos.
 *  2. `attributesToSearchOn` restricts which fields match, not where neighbours may stand.
 */
import type { OwnedCache } from '../cache.js'
import { covers } from '../fields/patterns.js'
import type { IndexData } from '../index-data/index-data.js'
import {
  documentCount,
  EMPTY_LIST,
  find,
  occurrencesEnd,
  occurrencesStart,
  type PostingList,
  shareField,
  type TermDictionary,
  unitedList,
} from '../postings/postings.js'
import { DocSet } from '../store/docid-set.js'
import type { PhraseWords } from './parse.js'
import { hasLevel, type Level, type Subset, type Term, type TermSource } from './term.js'

/** Where the words of a term stand. */
export interface Occurrences {
  /** Words as such: exact, completed one by one, with typos. */
  readonly words: PostingList
  /** Completions of a short common prefix, which are never looked at in reverse order. */
  readonly completions: PostingList
  readonly phrases: readonly PhraseOccurrences[]
}

export interface PhraseOccurrences {
  readonly documents: DocSet
  /** Of the first word, where the phrase stands. */
  readonly firstWord: PostingList
  /** Of the first and the last slot, where neighbours of the phrase stand; empty for a stop word. */
  readonly first: PostingList
  readonly last: PostingList
}

const NUMERIC_WORD = /^[\p{N}!-/:-@[-`{-~]+$/u

export class TermResolver implements TermSource {
  readonly index: IndexData
  readonly dictionary: TermDictionary
  /** Docids are below it. */
  readonly bound: number
  private readonly cache: OwnedCache
  /** Field → 1 if it is searched; null for all. */
  readonly allowed: Uint8Array | null
  /** Field → 1 if typos match there; null for all. */
  private readonly tolerant: Uint8Array | null
  /** Field → 1 if typos are off there; null if they are nowhere. */
  private readonly exactFields: Uint8Array | null
  private readonly exactNumbers: boolean
  private readonly byAttribute: boolean
  /** Words of the query, n-grams among them, for which every cut in two was looked up in the whole index. */
  readonly cutWords = new Set<string>()
  private readonly levels = new Map<Term, (DocSet | undefined)[]>()
  private readonly exacts = new Map<Term, DocSet>()
  private readonly phrases = new Map<string, DocSet>()
  private readonly places = new Map<Term, Map<number, Occurrences>>()

  constructor(index: IndexData, cache: OwnedCache, allowed: Uint8Array | null) {
    this.index = index
    this.cache = cache
    this.dictionary = index.text.dictionary
    this.bound = index.alive.words.length * 32
    this.allowed = allowed
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
    this.tolerant =
      exact === null
        ? allowed
        : exact.map((off, field) => (off === 0 && (allowed === null || allowed[field] === 1) ? 1 : 0))
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

  /** Documents with a word. @param derived whether it was not typed as such */
  documentsOfWord(word: string, derived: boolean): DocSet {
    const found = new DocSet(this.bound)
    this.addDocuments(found, word, derived)
    return found
  }

  private addDocuments(found: DocSet, word: string, derived: boolean): void {
    const list = this.dictionary.get(word)
    if (list === undefined || (derived && this.exactNumbers && NUMERIC_WORD.test(word))) return
    addListed(found, list, derived ? this.tolerant : this.allowed)
  }

  /** Documents of one level of a term. */
  documentsOfLevel(term: Term, level: Level): DocSet {
    const known = this.levels.get(term) ?? []
    this.levels.set(term, known)
    let found = known[level]
    if (found === undefined) {
      found = this.level(term, level)
      known[level] = found
    }
    return found
  }

  private level(term: Term, level: Level): DocSet {
    const found = new DocSet(this.bound)
    for (const phrase of term.phrases(level)) found.union(this.documentsOfPhrase(phrase))
    if (level === 0) {
      found.union(this.documentsOfCompletions(term))
    } else for (const word of level === 1 ? term.oneTypo : term.twoTypos) this.addDocuments(found, word, true)
    return found
  }

  /** Documents with the word itself or what it may be completed to. */
  documentsOfCompletions(term: Term): DocSet {
    const found = new DocSet(this.bound)
    const derived = term.spec.ngram !== null
    if (term.exact !== null) this.addDocuments(found, term.exact, derived)
    const mask = derived ? this.tolerant : this.allowed
    if (term.usesShortPrefix && mask === null && !this.exactNumbers)
      addListed(found, this.completionList(term), null)
    else for (const word of term.completions) this.addDocuments(found, word, derived)
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

  /** Documents of everything a subset still allows. */
  documentsOf(term: Term, subset: Subset): DocSet {
    if (subset.exactOnly) return this.exactDocuments(term)
    const found = new DocSet(this.bound)
    for (const level of [0, 1, 2] as const)
      if (hasLevel(subset, level)) found.union(this.documentsOfLevel(term, level))
    return found
  }

  /** Documents that seem to hold a phrase: neighbours are checked in windows of three. Source: search §5.5. */
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

  /** Documents of `within` where `right` follows `left` at most `most` further on. */
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

  // ——— splits ———

  /** Tried in descending order of what the rarer half allows, so that few pairs have to be counted. */
  split(word: string): readonly [string, string] | null {
    this.cutWords.add(word)
    return this.cache.get('splits', word, () => this.bestSplit(word))
  }

  private bestSplit(word: string): readonly [string, string] | null {
    const cuts: { at: number; left: string; right: string; most: number }[] = []
    const characters = Array.from(word)
    for (let at = 1; at < characters.length; at++) {
      const [left, right] = [characters.slice(0, at).join(''), characters.slice(at).join('')]
      const [lefts, rights] = [this.dictionary.get(left), this.dictionary.get(right)]
      if (lefts !== undefined && rights !== undefined)
        cuts.push({ at, left, right, most: Math.min(documentCount(lefts), documentCount(rights)) })
    }
    cuts.sort((a, b) => b.most - a.most || a.at - b.at)
    let best: { at: number; count: number; words: readonly [string, string] } | null = null
    for (const { at, left, right, most } of cuts) {
      if (best !== null && most < best.count) break
      const count = this.countPairs(left, right)
      if (count > 0 && (best === null || count > best.count || (count === best.count && at < best.at)))
        best = { at, count, words: [left, right] }
    }
    return best?.words ?? null
  }

  /** Documents in which `right` stands right behind `left`. */
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

  // ——— positions ———

  list(word: string): PostingList {
    return this.dictionary.get(word) ?? EMPTY_LIST
  }

  /** Occurrences of a list in one document, ascending, where it is searched. @param derived as of `documentsOfWord` */
  occurrencesIn(docid: number, list: PostingList, derived: boolean): readonly number[] {
    const nth = find(list, docid)
    if (nth === -1) return []
    const mask = derived ? this.tolerant : this.allowed
    const all = Array.from(list.subarray(occurrencesStart(list, nth), occurrencesEnd(list, nth)))
    return mask === null ? all : all.filter((occurrence) => mask[occurrence >>> 16] === 1)
  }

  /** Where everything stands that a subset allows. */
  occurrences(term: Term, subset: Subset): Occurrences {
    const known = this.places.get(term) ?? new Map<number, Occurrences>()
    this.places.set(term, known)
    const key = subset.exactOnly ? -1 : subset.levels
    let found = known.get(key)
    if (found === undefined) {
      found = this.placesOf(term, subset)
      known.set(key, found)
    }
    return found
  }

  private placesOf(term: Term, subset: Subset): Occurrences {
    const { words, completes, phrases } = this.wordsOf(term, subset)
    return {
      words: unitedList(
        words.map((word) => this.list(word)),
        this.bound,
      ),
      completions: completes ? this.completionList(term) : EMPTY_LIST,
      phrases: phrases.map((phrase) => this.phraseOccurrences(phrase)),
    }
  }

  /** The words and phrases that a subset allows, and whether all completions of the term's short beginning do. */
  wordsOf(
    term: Term,
    subset: Subset,
  ): {
    readonly words: readonly string[]
    readonly completes: boolean
    readonly phrases: readonly PhraseWords[]
  } {
    const words: string[] = []
    const phrases: PhraseWords[] = []
    if (subset.exactOnly) {
      if (term.spec.phrase !== null) phrases.push(term.spec.phrase)
      else if (term.exact !== null && term.spec.ngram === null) words.push(term.exact)
      // The word alone still brings along what begins with it, where a short beginning is looked up as a whole.
      return { words, completes: words.length > 0 && term.usesShortPrefix, phrases }
    }
    const completes = hasLevel(subset, 0) && term.usesShortPrefix
    if (hasLevel(subset, 0)) {
      if (term.exact !== null) words.push(term.exact)
      if (!completes) words.push(...term.completions)
    }
    if (hasLevel(subset, 1)) words.push(...term.oneTypo)
    if (hasLevel(subset, 2)) words.push(...term.twoTypos)
    for (const level of [0, 1, 2] as const) if (hasLevel(subset, level)) phrases.push(...term.phrases(level))
    return { words, completes, phrases }
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

  completionList(term: Term): PostingList {
    return this.cache.get('completions', term.spec.word, () =>
      unitedList(
        term.completions.map((word) => this.list(word)),
        this.bound,
      ),
    )
  }
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

/** Smallest distance from an occurrence of one list to a later one of the other, in one field. */
function forwardDistance(lefts: PostingList, a: number, rights: PostingList, b: number): number {
  let least = Number.POSITIVE_INFINITY
  let left = occurrencesStart(lefts, a)
  const leftEnd = occurrencesEnd(lefts, a)
  const rightEnd = occurrencesEnd(rights, b)
  for (let right = occurrencesStart(rights, b); right < rightEnd; right++) {
    const place = rights[right]!
    while (left < leftEnd && lefts[left]! < place) left++
    const before = left - 1
    if (before < occurrencesStart(lefts, a)) continue
    const distance = place - lefts[before]!
    if (distance < least && place >>> 16 === lefts[before]! >>> 16) least = distance
  }
  return least
}
