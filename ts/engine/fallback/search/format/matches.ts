/**
 * Finds matches of the query in a text.
 *
 * Source: search §16.2.
 * 1. Phrases are tried before words, exact words before prefixes, longer n-grams before shorter ones.
 * 2. A phrase is one match, including the separators inside it.
 * 3. A prefix match marks as many characters as were typed.
 */
import { decomposed, folded } from '../../analysis/normalise.js'
import { STOP_WORD, type Token, WORD } from '../../analysis/tokenize.js'
import { type QueryGraph, type TermNode, widthOf } from '../../query/graph.js'
import type { PhraseWords } from '../../query/parse.js'

/** A highlighted part of a text. Offsets are in UTF-16 units; word numbers do not count separators. */
export interface TextMatch {
  readonly start: number
  readonly end: number
  readonly firstToken: number
  readonly lastToken: number
  readonly firstWord: number
  readonly lastWord: number
  /** Query positions that the match covers, inclusive. */
  readonly firstPosition: number
  readonly lastPosition: number
  readonly isPhrase: boolean
}

interface WordPattern {
  /** The word itself and its completions. */
  readonly plain: ReadonlySet<string>
  /** Words found by typo. If several are prefixes of a token, the shortest counts. */
  readonly typos: ReadonlySet<string>
  readonly isPrefix: boolean
  /** Number of characters typed. */
  readonly typed: number
  readonly node: TermNode
}

interface PhrasePattern {
  readonly words: PhraseWords
  readonly node: TermNode
}

export const isWordToken = ({ kind }: Token): boolean => kind === WORD || kind === STOP_WORD

/** The words and phrases of a query to find in texts. */
export class QueryPatterns {
  private readonly words: readonly WordPattern[]
  private readonly phrases: readonly PhrasePattern[]

  constructor(graph: QueryGraph | null) {
    const nodes = graph?.nodes ?? []
    this.phrases = nodes.flatMap((node) =>
      ([0, 1] as const).flatMap((typos) => node.term.phrases(typos).map((words) => ({ words, node }))),
    )
    this.words = nodes
      .filter(({ term }) => term.spec.phrase === null)
      .map((node) => wordPattern(node))
      .sort((a, b) => Number(a.isPrefix) - Number(b.isPrefix) || widthOf(b.node) - widthOf(a.node))
  }

  /** Returns matches in order, without overlaps. */
  find(text: string, tokens: readonly Token[]): TextMatch[] {
    const matches: TextMatch[] = []
    if (this.words.length === 0 && this.phrases.length === 0) return matches
    let word = 0
    for (let at = 0; at < tokens.length; at++) {
      if (!isWordToken(tokens[at]!)) continue
      const match = this.phraseAt(tokens, at, word) ?? this.wordAt(text, tokens, at, word)
      if (match !== null) {
        matches.push(match)
        word = match.lastWord
        at = match.lastToken
      }
      word++
    }
    return matches
  }

  private phraseAt(tokens: readonly Token[], first: number, firstWord: number): TextMatch | null {
    for (const { words, node } of this.phrases) {
      let at = first
      let matched = 0
      let last = first
      for (; at < tokens.length && matched < words.length; at++) {
        const token = tokens[at]!
        if (!isWordToken(token)) continue
        if (words[matched] === null || token.word !== words[matched]) break
        matched++
        last = at
      }
      if (matched === words.length)
        return {
          start: tokens[first]!.start,
          end: tokens[last]!.end,
          firstToken: first,
          lastToken: last,
          firstWord,
          lastWord: firstWord + matched - 1,
          firstPosition: node.firstPosition,
          lastPosition: node.lastPosition,
          isPhrase: true,
        }
    }
    return null
  }

  private wordAt(text: string, tokens: readonly Token[], at: number, word: number): TextMatch | null {
    const token = tokens[at]!
    for (const pattern of this.words) {
      const length = matchedLength(pattern, token.word)
      if (length === 0) continue
      const { firstPosition, lastPosition } = pattern.node
      return {
        start: token.start,
        end: pattern.isPrefix ? originalEnd(text, token, Math.min(length, pattern.typed)) : token.end,
        firstToken: at,
        lastToken: at,
        firstWord: word,
        lastWord: word,
        firstPosition,
        lastPosition,
        isPhrase: false,
      }
    }
    return null
  }
}

function wordPattern(node: TermNode): WordPattern {
  const { term } = node
  const plain = new Set(term.exact === null ? [] : [term.exact])
  if (!term.usesShortPrefix) for (const word of term.completions) plain.add(word)
  const typos = new Set([...term.forms, ...term.oneTypo, ...term.twoTypos])
  return { plain, typos, isPrefix: term.spec.isPrefix, typed: Array.from(term.spec.word).length, node }
}

/** Number of characters of the matching word that the token equals or starts with; 0 if none. */
function matchedLength({ plain, typos, isPrefix }: WordPattern, token: string): number {
  if (!isPrefix) return plain.has(token) || typos.has(token) ? Array.from(token).length : 0
  for (const words of [plain, typos])
    for (let end = 1; end <= token.length; end++)
      if (words.has(token.slice(0, end))) return Array.from(token.slice(0, end)).length
  return 0
}

/** Offset in the original text where the first `count` characters of a token's word end. */
function originalEnd(text: string, token: Token, count: number): number {
  let left = count
  let at = token.start
  for (const character of text.slice(token.start, token.end)) {
    if (left <= 0) break
    left -= Array.from(folded(decomposed(character, token.language), token)).length
    at += character.length
  }
  return at
}
