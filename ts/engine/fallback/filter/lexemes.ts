/** Splits a filter into words, quoted strings and symbols. */
import { FILTER_SYMBOLS_MAX, FILTER_TEXTS_MAX } from '../limits.js'
import { FilterError, foundIn } from './error.js'

type TokenKind = 'word' | 'quoted' | 'symbol' | 'end'

export interface Lexeme {
  readonly kind: TokenKind
  readonly text: string
  readonly start: number
  readonly end: number
}

export const KEYWORDS: ReadonlySet<string> = new Set([
  'AND',
  'OR',
  'IN',
  'NOT',
  'TO',
  'EXISTS',
  'IS',
  'NULL',
  'EMPTY',
  'CONTAINS',
  'STARTS',
  'WITH',
  '_geoRadius',
  '_geoBoundingBox',
])

/** Allowed white space; any other white space is an unexpected character. */
const BLANKS = ' \t\r\n'
export const BLANK = /^[ \t\r\n]*$/
const WORD = /[\p{Alphabetic}\p{N}_\-.]+/uy
const SYMBOL = /!=|>=|<=|[=<>()[\],]/y

/** Remaining number of fields, values and symbols in a filter, shared by all its expressions. */
export class LexemeBudget {
  #texts = FILTER_TEXTS_MAX
  #symbols = FILTER_SYMBOLS_MAX

  /** @throws FilterError */
  take({ kind, text }: Lexeme, source: string): void {
    if (kind === 'symbol') this.#symbols--
    else if (kind === 'quoted' || !KEYWORDS.has(text)) this.#texts--
    if (this.#texts >= 0 && this.#symbols >= 0) return
    throw new FilterError(
      `the filter holds more than ${FILTER_TEXTS_MAX} fields and values; ask in several requests`,
      { text: source, start: 0, end: 0 },
    )
  }
}

export function lexemes(text: string, budget: LexemeBudget): Lexeme[] {
  const found: Lexeme[] = []
  let at = 0
  while (at < text.length) {
    const character = text[at]!
    if (BLANKS.includes(character)) {
      at++
      continue
    }
    if (character === '"' || character === "'") {
      const quoted = readQuoted(text, at)
      budget.take(quoted, text)
      found.push(quoted)
      at = quoted.end
      continue
    }
    SYMBOL.lastIndex = at
    WORD.lastIndex = at
    const symbol = SYMBOL.exec(text)?.[0]
    const word = symbol === undefined ? WORD.exec(text)?.[0] : undefined
    // Any other character becomes a symbol that the parser never accepts.
    const match = symbol ?? word ?? String.fromCodePoint(text.codePointAt(at)!)
    const kind = word === undefined ? 'symbol' : 'word'
    const lexeme = { kind, text: match, start: at, end: at + match.length } as const
    budget.take(lexeme, text)
    found.push(lexeme)
    at += match.length
  }
  found.push({ kind: 'end', text: '', start: text.length, end: text.length })
  return found
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '\\': '\\',
  '"': '"',
  "'": "'",
}

/** @returns undefined for a number that is no character */
function characterOf(hexadecimal: string): string | undefined {
  const codePoint = Number.parseInt(hexadecimal, 16)
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff
  return isSurrogate || codePoint > 0x10ffff ? undefined : String.fromCodePoint(codePoint)
}

function readQuoted(text: string, start: number): Lexeme {
  const quote = text[start]!
  let value = ''
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at]!
    if (character === quote) return { kind: 'quoted', text: value, start, end: at + 1 }
    if (character !== '\\') {
      value += character
      continue
    }
    // The longest escape has ten characters.
    const rest = text.slice(at + 1, at + 11)
    const coded = /^x([0-9a-fA-F]{2})|^u\{([0-9a-fA-F]{1,6})\}/.exec(rest)
    const sequence = coded?.[0] ?? (rest === '' ? '' : String.fromCodePoint(rest.codePointAt(0)!))
    const escaped = coded === null ? ESCAPES[sequence] : characterOf(coded[1] ?? coded[2]!)
    if (escaped === undefined) {
      const span = { text, start: at, end: at + 1 + sequence.length }
      throw new FilterError(`unknown escape sequence ${foundIn(span)}`, span)
    }
    value += escaped
    at += sequence.length
  }
  const at = { text, start, end: text.length }
  throw new FilterError(`missing closing quote of ${foundIn(at)}`, at)
}
