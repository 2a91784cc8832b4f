/**
 * Here is a filter as text: what does it ask?
 *
 *     expr    := and ("OR" and)*
 *     and     := not ("AND" not)*
 *     not     := "NOT" not | primary
 *     primary := "(" expr ")" | geo | foreign | element | field op value | field value "TO" value
 *              | field ["NOT"] "IN" "[" [value ("," value)* [","]] "]"
 *              | field "IS" ["NOT"] ("NULL" | "EMPTY") | field ["NOT"] "EXISTS"
 *              | field ["NOT"] ("CONTAINS" | "STARTS" "WITH") value
 *     foreign := "_foreign" "(" field "," expr ")"
 *     element := "_element" "(" field "," expr ")"
 *     value   := word | '…' | "…"        word := [alphanumeric _ - .]+
 *
 * Source: search §12.2.
 */

import { isDecimal } from '../../../parse/index.js'
import { excerpt, FilterError } from './error.js'
import { BLANK, KEYWORDS, type Lexeme, LexemeBudget, lexemes } from './lexemes.js'
import type { Comparison, Condition, Filter, LatLng, Span, VectorKind } from './tree.js'

export interface FilterFeatures {
  readonly containsFilter: boolean
  /** Allows conditions on `_vectors`. */
  readonly multimodal: boolean
  /** Allows conditions on documents of other indexes. */
  readonly foreignKeys: boolean
}

/** Corners of a circle where it is compared with shapes, unless the filter says. */
const CIRCLE_CORNERS = 125

/** Source: the reference's stack guard. A pair of parentheses costs 4, a `NOT` 1, a condition 3. */
const DEPTH_MAX = 150
const PARENTHESES_COST = 4
const CONDITION_COST = 3

/**
 * Reads the JSON value of a `filter`: an expression, or a list (AND) of expressions and lists (OR) of them.
 * @returns null for a filter that asks nothing @throws FilterError
 */
export function parseFilter(value: unknown, features: FilterFeatures): Filter | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return parseExpression(value, features, new LexemeBudget())
  if (!Array.isArray(value))
    throw new FilterError(
      `a filter must be a string or an array, found \`${excerpt(JSON.stringify(value))}\``,
    )
  const budget = new LexemeBudget()
  const items = value.flatMap((item: unknown) => {
    const parsed = Array.isArray(item)
      ? parseAlternatives(item, features, budget)
      : parseElement(item, features, budget)
    return parsed === null ? [] : [parsed]
  })
  return items.length === 0 ? null : { kind: 'and', items }
}

function parseAlternatives(
  list: readonly unknown[],
  features: FilterFeatures,
  budget: LexemeBudget,
): Filter | null {
  const items = list.flatMap((item) => parseElement(item, features, budget) ?? [])
  return items.length === 0 ? null : { kind: 'or', items }
}

function parseElement(item: unknown, features: FilterFeatures, budget: LexemeBudget): Filter | null {
  if (typeof item === 'string') return parseExpression(item, features, budget)
  throw new FilterError(
    `a filter array holds strings and arrays of strings, found \`${excerpt(JSON.stringify(item))}\``,
  )
}

function parseExpression(text: string, features: FilterFeatures, budget: LexemeBudget): Filter | null {
  return BLANK.test(text) ? null : new ExpressionParser(text, features, budget).whole()
}

class ExpressionParser {
  private readonly text: string
  private readonly tokens: readonly Lexeme[]
  private readonly features: FilterFeatures
  private at = 0
  /** The first use of what cannot be used; told once the text turns out to be a filter. */
  private lacking: FilterError | null = null

  constructor(text: string, features: FilterFeatures, budget: LexemeBudget) {
    this.text = text
    this.tokens = lexemes(text, budget)
    this.features = features
  }

  whole(): Filter {
    const filter = this.alternatives(0)
    if (this.token.kind !== 'end')
      throw this.error(`expected the end, \`AND\` or \`OR\`, found \`${this.token.text}\``)
    if (this.lacking !== null) throw this.lacking
    return filter
  }

  private get token(): Lexeme {
    return this.tokens[this.at]!
  }

  private span(from: Lexeme = this.token, to: Lexeme = from): Span {
    return { text: this.text, start: from.start, end: to.end }
  }

  private error(reason: string, token = this.token): FilterError {
    return new FilterError(reason, this.span(token))
  }

  private lacks(attempt: string, feature: string, at: Span): void {
    const reason = `${attempt} in a filter requires enabling the \`${feature}\` experimental feature`
    this.lacking ??= new FilterError(reason, at, 'missingFeature')
  }

  private isWord(word: string): boolean {
    return this.token.kind === 'word' && this.token.text === word
  }

  private take(word: string): boolean {
    if (!this.isWord(word)) return false
    this.at++
    return true
  }

  private takeSymbol(symbol: string): boolean {
    if (this.token.kind !== 'symbol' || this.token.text !== symbol) return false
    this.at++
    return true
  }

  private need(symbol: string): void {
    if (!this.takeSymbol(symbol)) throw this.error(`expected \`${symbol}\`, found ${this.found}`)
  }

  private get found(): string {
    return this.token.kind === 'end' ? 'the end of the filter' : `\`${this.token.text}\``
  }

  private alternatives(depth: number): Filter {
    const items = [this.conjunction(depth)]
    while (this.take('OR')) items.push(this.conjunction(depth))
    return items.length === 1 ? items[0]! : { kind: 'or', items }
  }

  private conjunction(depth: number): Filter {
    const items = [this.negation(depth)]
    while (this.take('AND')) items.push(this.negation(depth))
    return items.length === 1 ? items[0]! : { kind: 'and', items }
  }

  private negation(depth: number): Filter {
    let negations = 0
    while (this.take('NOT')) negations++
    const item = this.primary(depth + negations)
    return negations % 2 === 1 ? { kind: 'not', item } : item
  }

  private primary(depth: number): Filter {
    if (depth + CONDITION_COST > DEPTH_MAX)
      throw this.error('the filter is nested too deeply; use `IN` or arrays instead of parentheses')
    if (this.takeSymbol('(')) {
      const filter = this.alternatives(depth + PARENTHESES_COST)
      this.need(')')
      return filter
    }
    return this.geo() ?? this.foreign(depth) ?? this.element(depth) ?? this.fieldCondition()
  }

  private foreign(depth: number): Filter | null {
    const found = this.fieldWithFilter('_foreign', depth)
    if (found === null) return null
    if (!this.features.foreignKeys) this.lacks('using `_foreign`', 'foreign keys', found.at)
    return { kind: 'foreign', ...found }
  }

  private element(depth: number): Filter | null {
    const found = this.fieldWithFilter('_element', depth)
    if (found === null) return null
    const misplaced = notAboutElements(found.item)
    if (misplaced !== null)
      throw new FilterError('`_element` takes conditions on fields alone, not this one', misplaced)
    return { kind: 'element', ...found }
  }

  /** `name(field, filter)`; null if something else comes next. */
  private fieldWithFilter(name: string, depth: number): { field: string; item: Filter; at: Span } | null {
    const start = this.token
    if (!this.isWord(name) || this.tokens[this.at + 1]?.text !== '(') return null
    this.at += 2
    const field = this.operand('a field name')
    this.need(',')
    const item = this.alternatives(depth + PARENTHESES_COST)
    this.need(')')
    return { field, item, at: this.span(start, this.tokens[this.at - 1]) }
  }

  private fieldCondition(): Filter {
    const token = this.token
    const field = this.operand('a field name')
    const reserved = reservedReason(field)
    if (reserved !== null) throw this.error(reserved, token)
    if (token.kind === 'word' && /^_vectors(\.|$)/.test(field)) return this.vectors(token)
    const { condition, negated } = this.condition()
    const filter: Filter = { kind: 'condition', field, condition, at: this.span(token) }
    return negated ? { kind: 'not', item: filter } : filter
  }

  /** `_vectors[.embedder[.kind]] [NOT] EXISTS`; each name may be quoted. */
  private vectors(start: Lexeme): Filter {
    const names = this.restOfNames(start)
    const at = this.span(start, this.tokens[this.at - 1])
    if (!this.features.multimodal) this.lacks('using `_vectors`', 'multimodal', at)
    const negated = this.take('NOT')
    if (!this.take('EXISTS'))
      throw this.error(`\`_vectors\` can only be asked for \`EXISTS\`, found ${this.found}`)
    const [embedder = null, kind = null, name = null, ...more] = names
    const filter: Filter = { kind: 'vectors', embedder, which: this.vectorKind(kind, name, start), at }
    if (more.length > 0 || (name !== null && filter.which.kind !== 'fragment'))
      throw this.error('only one kind of vectors can be asked for', start)
    return negated ? { kind: 'not', item: filter } : filter
  }

  private vectorKind(kind: string | null, name: string | null, start: Lexeme): VectorKind {
    if (kind === null) return { kind: 'any' }
    if (kind === 'userProvided' || kind === 'documentTemplate' || kind === 'regenerate') return { kind }
    if (kind !== 'fragments')
      throw this.error(
        `\`${kind}\` is no kind of vectors: expected \`userProvided\`, \`documentTemplate\`, ` +
          '`regenerate` or `fragments`',
        start,
      )
    if (name === null) throw this.error('`fragments` needs the name of one', start)
    return { kind: 'fragment', name }
  }

  /** Names after `_vectors`: dots and names by turns, up to the first white space. */
  private restOfNames(start: Lexeme): string[] {
    const DOT = null
    const parts: (string | typeof DOT)[] = []
    const addWord = (text: string): void => {
      for (const [at, name] of text.split('.').entries()) {
        if (at > 0) parts.push(DOT)
        if (name !== '') parts.push(name)
      }
    }
    addWord(start.text.slice('_vectors'.length))
    for (
      let end = start.end;
      this.token.start === end && /^(word|quoted)$/.test(this.token.kind);
      this.at++
    ) {
      const { kind, text } = this.token
      end = this.token.end
      if (kind === 'word') addWord(text)
      else parts.push(text)
    }
    const names = parts.filter((part) => part !== DOT)
    if (parts.some((part, at) => (part === DOT) !== (at % 2 === 0)) || names.length * 2 !== parts.length)
      throw this.error('after `_vectors` come names, each behind a dot', start)
    return names
  }

  private condition(): { condition: Condition; negated: boolean } {
    const { kind, text } = this.token
    if (kind === 'symbol' && /^(!?=|[<>]=?)$/.test(text)) {
      this.at++
      const value = this.operand('a value')
      return { condition: { kind: 'compare', op: text as Comparison, value }, negated: false }
    }
    if (this.take('IS')) {
      const negated = this.take('NOT')
      if (this.take('NULL')) return { condition: { kind: 'null' }, negated }
      if (this.take('EMPTY')) return { condition: { kind: 'empty' }, negated }
      throw this.error(`expected \`NULL\` or \`EMPTY\`, found ${this.found}`)
    }
    const negated = this.take('NOT')
    if (this.take('EXISTS')) return { condition: { kind: 'exists' }, negated }
    if (this.take('IN')) return { condition: { kind: 'in', values: this.list() }, negated }
    const operator = this.token
    if (this.take('CONTAINS')) {
      if (!this.features.containsFilter)
        this.lacks('using `CONTAINS`', 'contains filter', this.span(operator))
      return { condition: { kind: 'contains', value: this.operand('a value') }, negated }
    }
    if (this.take('STARTS')) {
      if (!this.take('WITH')) throw this.error(`expected \`WITH\`, found ${this.found}`)
      return { condition: { kind: 'startsWith', value: this.operand('a value') }, negated }
    }
    if (!negated && (kind === 'word' || kind === 'quoted') && !KEYWORDS.has(text)) {
      const from = this.operand('a value')
      if (!this.take('TO')) throw this.error(`expected \`TO\`, found ${this.found}`)
      return { condition: { kind: 'between', from, to: this.operand('a value') }, negated: false }
    }
    throw this.error(
      `expected an operation \`=\`, \`!=\`, \`>=\`, \`>\`, \`<=\`, \`<\`, \`IN\`, \`NOT IN\`, \`TO\`, \`EXISTS\`, ` +
        `\`NOT EXISTS\`, \`IS NULL\`, \`IS NOT NULL\`, \`IS EMPTY\`, \`IS NOT EMPTY\`, \`CONTAINS\`, ` +
        `\`STARTS WITH\`, found ${this.found}`,
    )
  }

  private list(): string[] {
    this.need('[')
    const values: string[] = []
    while (!this.takeSymbol(']')) {
      values.push(this.operand('a value'))
      if (this.takeSymbol(',')) continue
      this.need(']')
      break
    }
    return values
  }

  private operand(what: string): string {
    const { kind, text } = this.token
    if (kind === 'quoted' || (kind === 'word' && !KEYWORDS.has(text))) {
      this.at++
      return text
    }
    if (kind === 'word')
      throw this.error(`\`${text}\` is a reserved keyword; put it in quotes to use it as ${what}`)
    throw this.error(`expected ${what}, found ${this.found}`)
  }

  private geo(): Filter | null {
    const start = this.token
    if (start.kind !== 'word' || this.tokens[this.at + 1]?.text !== '(') return null
    const names = ['_geoRadius', '_geoBoundingBox', '_geoPolygon']
    if (!names.includes(start.text)) return null
    this.at += 2
    const filter = this.shape(start)
    this.need(')')
    return { ...filter, at: this.span(start, this.tokens[this.at - 1]) }
  }

  private shape(start: Lexeme): Filter & { kind: 'radius' | 'box' | 'polygon' } {
    const at = this.span(start)
    if (start.text === '_geoRadius') {
      const numbers = [this.number()]
      while (this.takeSymbol(',')) numbers.push(this.number())
      if (numbers.length !== 3 && numbers.length !== 4)
        throw this.error('`_geoRadius` takes three numbers: latitude, longitude, metres', start)
      const [lat, lng, metres, resolution] = numbers as [number, number, number, number?]
      if (resolution !== undefined && (resolution < 3 || resolution > 1000))
        throw this.error('the resolution of `_geoRadius` must be between 3 and 1000', start)
      const corners = Math.trunc(resolution ?? CIRCLE_CORNERS)
      return { kind: 'radius', center: this.point(lat, lng, start), metres, corners, at }
    }
    const corners = [this.corner(start)]
    while (this.takeSymbol(',')) corners.push(this.corner(start))
    if (start.text === '_geoPolygon') {
      if (corners.length < 3) throw this.error('`_geoPolygon` takes at least three points', start)
      return { kind: 'polygon', corners, at }
    }
    if (corners.length !== 2)
      throw this.error('`_geoBoundingBox` takes two points: the top right and the bottom left corner', start)
    const [topRight, bottomLeft] = corners as [LatLng, LatLng]
    if (topRight[0] < bottomLeft[0])
      throw this.error(`the top latitude ${topRight[0]} is below the bottom latitude ${bottomLeft[0]}`, start)
    return { kind: 'box', topRight, bottomLeft, at }
  }

  private corner(start: Lexeme): LatLng {
    this.need('[')
    const lat = this.number()
    this.need(',')
    const lng = this.number()
    this.need(']')
    return this.point(lat, lng, start)
  }

  private number(): number {
    const token = this.token
    const text = this.operand('a number')
    if (!isDecimal(text)) throw this.error(`expected a number, found \`${text}\``, token)
    return Number(text)
  }

  private point(lat: number, lng: number, start: Lexeme): LatLng {
    if (Math.abs(lat) > 90) throw this.error(`the latitude ${lat} is not between -90 and 90`, start)
    if (Math.abs(lng) > 180) throw this.error(`the longitude ${lng} is not between -180 and 180`, start)
    return [lat, lng]
  }
}

/** Where a filter first asks about more than fields of an element; null if it does not. */
function notAboutElements(filter: Filter): Span | null {
  switch (filter.kind) {
    case 'condition':
    case 'element':
      return null
    case 'not':
      return notAboutElements(filter.item)
    case 'and':
    case 'or':
      return filter.items.map(notAboutElements).find((at) => at !== null) ?? null
    default:
      return filter.at
  }
}

/** A finite number as filters read it, null if `text` is none. */
export const numberIn = (text: string): number | null => {
  const trimmed = text.trim()
  const value = isDecimal(trimmed) ? Number(trimmed) : Number.NaN
  return Number.isFinite(value) ? value : null
}

/** Why conditions on a field are refused, whatever the settings; null if they are not. */
export const reservedReason = (field: string): string | null =>
  /^_geo(Distance|Point)?$/.test(field)
    ? `\`${field}\` is reserved and cannot be filtered; use \`_geoRadius(lat, lng, metres)\` or ` +
      '`_geoBoundingBox([lat, lng], [lat, lng])`'
    : null
