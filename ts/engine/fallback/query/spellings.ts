/**
 * Lists the derivations of a query node and their positions in a document.
 *
 * 1. Derivations that occur in the document come first. Within a kind, they are in descending order of documents.
 * 2. A phrase is at the position of its first word.
 */
import type { Place, Spelling } from '../../explain-facts.js'
import { PLACES_MAX, SPELLINGS_MAX } from '../limits.js'
import type { DocSet } from '../store/docid-set.js'
import { compareUtf8 } from '../store/text-order.js'
import type { TermNode } from './graph.js'
import type { PhraseWords } from './parse.js'
import type { TermResolver } from './resolver.js'

type Found = Omit<Spelling, 'kind' | 'typos'>

/** Returns the first spellings and their total number. Only visible documents are counted. */
export function spellingsOf(
  resolver: TermResolver,
  { term }: TermNode,
  docid: number,
  visible: DocSet,
): { readonly spellings: readonly Spelling[]; readonly total: number } {
  const { phrase, ngram, synonyms, word: text } = term.spec
  const isJoined = ngram !== null
  const joins = isJoined ? ngram.length - 1 : 0
  const wordAs = (isDerived: boolean) => (word: string) =>
    found(
      word,
      resolver.documentsOfWord(word, isDerived),
      resolver.occurrencesIn(docid, resolver.list(word), isDerived),
    )
  const phraseAs = (words: PhraseWords): Found => {
    const documents = resolver.documentsOfPhrase(words)
    const first = words.find((word) => typeof word === 'string')
    const isHere = typeof first === 'string' && documents.has(docid)
    return found(
      words.map((word) => word ?? '…').join(' '),
      documents,
      isHere ? resolver.occurrencesIn(docid, resolver.list(first), false) : [],
    )
  }
  const completions = (): Found[] => {
    if (!term.usesShortPrefix) return term.completions.map(wordAs(isJoined))
    const lists = [resolver.list(text), resolver.completionList(term)]
    const occurrences = lists.flatMap((list) => resolver.occurrencesIn(docid, list, isJoined))
    const inOrder = [...new Set(occurrences)].sort((a, b) => a - b)
    return [found(`${text}…`, resolver.documentsOfCompletions(term), inOrder)]
  }
  const found = (word: string, documents: DocSet, occurrences: readonly number[]): Found => ({
    text: word,
    documents: documents.clone().intersect(visible).count(),
    places: occurrences.slice(0, PLACES_MAX).map(
      (occurrence): Place => ({
        attribute: resolver.index.fieldPaths[occurrence >>> 16] ?? '',
        position: occurrence & 0xffff,
      }),
    ),
  })
  const kinds: readonly (readonly [kind: Spelling['kind'], typos: number, all: readonly Found[]])[] = [
    phrase === null
      ? ['exact', 0, term.exact === null ? [] : [wordAs(isJoined)(term.exact)]]
      : ['phrase', 0, [phraseAs(phrase)]],
    ['prefix', 0, completions()],
    ['synonym', 0, synonyms.map(phraseAs)],
    ['stem', 1, term.stems.map(wordAs(isJoined))],
    ['compound', 1, term.compounds.map(wordAs(isJoined))],
    ['pinyin', 1, term.pinyin.map(wordAs(isJoined))],
    ['typo', 1, term.oneTypo.map(wordAs(true))],
    ['split', 1, term.split === null ? [] : [phraseAs(term.split)]],
    ['typo', 2, term.twoTypos.map(wordAs(true))],
  ]
  const all = kinds.flatMap(([kind, typos, ofKind]) =>
    ofKind
      .filter(({ documents }) => documents > 0)
      .sort((a, b) => b.documents - a.documents || compareUtf8(a.text, b.text))
      .map((spelling): Spelling => ({ kind, typos: typos + joins, ...spelling })),
  )
  const here = all.filter(({ places }) => places.length > 0)
  const elsewhere = all.filter(({ places }) => places.length === 0)
  return { spellings: [...here, ...elsewhere].slice(0, SPELLINGS_MAX), total: all.length }
}
