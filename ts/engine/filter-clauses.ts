/** Splits a filter that an engine accepts into its clauses. */
import { type Lexeme, LexemeBudget, lexemes } from './fallback/filter/lexemes.js'
import type { FilterValue } from './requests.js'

/** A part of a filter. */
export interface Clause {
  /** The text as written. For a list in the filter: its parts, joined by the operator. */
  readonly text: string
  /** How the parts are joined. `condition` has no parts. */
  readonly operator: 'and' | 'or' | 'not' | 'condition'
  readonly parts: readonly Clause[]
  /** A filter with only this part. */
  readonly filter: FilterValue
}

/** Returns the filter as one clause; null if it is empty. */
export function filterClauses(filter: FilterValue | null): Clause | null {
  if (filter === null) return null
  if (typeof filter === 'string') return expression(filter)
  const parts = filter.flatMap((item) =>
    typeof item === 'string'
      ? (expression(item) ?? [])
      : (joined(
          'or',
          item.flatMap((text) => expression(text) ?? []),
        ) ?? []),
  )
  return joined('and', parts)
}

/** Joins the clauses of several texts; null if there are none. */
function joined(operator: 'and' | 'or', parts: readonly Clause[]): Clause | null {
  const [first] = parts
  if (first === undefined || parts.length === 1) return first ?? null
  const texts = parts.map((part) => (part.operator === 'or' ? `(${part.text})` : part.text))
  const text = texts.join(operator === 'and' ? ' AND ' : ' OR ')
  return { text, operator, parts, filter: text }
}

function expression(text: string): Clause | null {
  const tokens = lexemes(text, new LexemeBudget())
  return tokens.length === 1 ? null : new ClauseReader(text, tokens).any()
}

/** Parses how conditions are joined, without parsing the conditions themselves. */
class ClauseReader {
  readonly #text: string
  readonly #tokens: readonly Lexeme[]
  #at = 0

  constructor(text: string, tokens: readonly Lexeme[]) {
    this.#text = text
    this.#tokens = tokens
  }

  any(): Clause {
    return this.#list('or', 'OR', () => this.#list('and', 'AND', () => this.#negated()))
  }

  #list(operator: 'and' | 'or', word: string, read: () => Clause): Clause {
    const from = this.#at
    const parts = [read()]
    while (this.#takes('word', word)) parts.push(read())
    return parts.length === 1 ? (parts[0] as Clause) : this.#clause(from, operator, parts)
  }

  #negated(): Clause {
    const from = this.#at
    if (this.#takes('word', 'NOT')) return this.#clause(from, 'not', [this.#negated()])
    if (!this.#takes('symbol', '(')) return this.#condition()
    const inner = this.any()
    this.#takes('symbol', ')')
    return inner
  }

  /** Reads a condition: everything up to the next AND or OR, or the closing parenthesis. */
  #condition(): Clause {
    const from = this.#at
    for (let depth = 0; ; this.#at++) {
      const { kind, text } = this.#token
      const isEnd = kind === 'end' || (kind === 'word' && (text === 'AND' || text === 'OR'))
      if (kind === 'end' || (depth === 0 && (isEnd || (kind === 'symbol' && text === ')')))) break
      if (kind !== 'symbol') continue
      if (text === '(' || text === '[') depth++
      if (text === ')' || text === ']') depth--
    }
    return this.#clause(from, 'condition', [])
  }

  #clause(from: number, operator: Clause['operator'], parts: readonly Clause[]): Clause {
    const start = this.#tokens[from]?.start ?? 0
    const text = this.#text.slice(start, this.#tokens[this.#at - 1]?.end ?? start)
    return { text, operator, parts, filter: text }
  }

  get #token(): Lexeme {
    return this.#tokens[this.#at] as Lexeme
  }

  #takes(kind: Lexeme['kind'], text: string): boolean {
    const isMatch = this.#token.kind === kind && this.#token.text === text
    if (isMatch) this.#at++
    return isMatch
  }
}
