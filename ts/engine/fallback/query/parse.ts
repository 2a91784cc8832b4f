/**
 * Parses a query into terms and negated terms.
 *
 * Source: search §4.
 * 1. At most 10 terms count, 32 with the matching strategy `any`; a phrase is one term.
 * 2. The last token, if it is a word, is a prefix.
 * 3. `-` negates a word or phrase only after white space and directly before it.
 * 4. Words of stop word lists are searched only in phrases and at the end of the query, unless nothing else is left.
 * 5. A hard separator ends a phrase and starts another.
 */
import { HARD, STOP_WORD, type Token, WORD } from '../analysis/tokenize.js'
import { QUERY_TOKENS_MAX } from '../limits.js'

/** Words of a phrase in order; null for a stop word, which matches any word. */
export type PhraseWords = readonly (string | null)[]

/** A term and its inclusive range of query positions. */
export type ParsedTerm = { readonly start: number; readonly end: number } & (
  | {
      readonly kind: 'word'
      readonly word: string
      readonly isPrefix: boolean
      /** True if it follows another word without a separator. */
      readonly isAttached: boolean
    }
  | { readonly kind: 'phrase'; readonly words: PhraseWords }
)

export interface ParsedQuery {
  readonly terms: readonly ParsedTerm[]
  readonly negativeWords: readonly string[]
  readonly negativePhrases: readonly PhraseWords[]
  /** Stop words of the settings or of their lists, which the search ignores. */
  readonly ignored: readonly string[]
}

const HARD_STEP = 7

const isWord = ({ kind }: Token): boolean => kind === WORD || kind === STOP_WORD

/** Collects the words between two quotes. */
class PhraseBuilder {
  private readonly words: (string | null)[] = []
  private start = 0
  private end = 0

  push(word: string | null, position: number): void {
    if (this.isEmpty) this.start = position
    this.end = position
    this.words.push(word)
  }

  private get isEmpty(): boolean {
    return this.words.every((word) => word === null)
  }

  build(): (ParsedTerm & { kind: 'phrase' }) | null {
    return this.isEmpty ? null : { kind: 'phrase', words: this.words, start: this.start, end: this.end }
  }
}

/** How a query is read. */
interface ParseOptions {
  /** True if the last word may be a prefix. */
  readonly prefixSearch: boolean
  /** Maximum number of terms; the rest of the query is ignored. */
  readonly termsMax: number
  /** Words of the stop word lists. */
  readonly listed: ReadonlySet<string>
}

export function parseQuery(tokens: readonly Token[], options: ParseOptions): ParsedQuery {
  const query = parseAll(tokens, options)
  if (query.terms.length > 0 || query.ignored.length === 0) return query
  return parseAll(tokens, { ...options, listed: new Set() })
}

function parseAll(tokens: readonly Token[], { prefixSearch, termsMax, listed }: ParseOptions): ParsedQuery {
  const terms: ParsedTerm[] = []
  const negativeWords: string[] = []
  const negativePhrases: PhraseWords[] = []
  const ignored: string[] = []
  let position = -1
  let phrase: PhraseBuilder | null = null
  let negative = false
  let afterBlank = true

  const close = (builder: PhraseBuilder): void => {
    const built = builder.build()
    if (built === null) return
    if (negative) negativePhrases.push(built.words)
    else terms.push(built)
  }

  const used = tokens.slice(0, QUERY_TOKENS_MAX)
  for (const [at, token] of used.entries()) {
    if (token.word === '') continue
    if (terms.length >= termsMax) break
    if (isWord(token)) {
      position++
      const isStopWord = token.kind === STOP_WORD
      const isLast = at === used.length - 1
      if (phrase !== null) phrase.push(isStopWord ? null : token.word, position)
      else if (negative) {
        negativeWords.push(token.word)
        negative = false
      } else if (isLast || !(isStopWord || listed.has(token.word)))
        terms.push({
          kind: 'word',
          word: token.word,
          isPrefix: isLast && prefixSearch,
          isAttached: at > 0 && isWord(used[at - 1]!),
          start: position,
          end: position,
        })
      else ignored.push(token.word)
    } else {
      if (token.kind === HARD) {
        position += HARD_STEP
        if (phrase !== null) {
          close(phrase)
          phrase = new PhraseBuilder()
        }
      }
      if (token.word.includes('"')) {
        if (phrase !== null) {
          close(phrase)
          phrase = null
          negative = false
        } else phrase = new PhraseBuilder()
      } else if (phrase === null) negative = token.word === '-' && afterBlank
    }
    afterBlank = /\s$/.test(token.word)
  }
  if (phrase !== null && terms.length < termsMax) close(phrase)
  return { terms, negativeWords, negativePhrases, ignored }
}
