/**
 * Parses filters.
 *
 * expr    := and ("OR" and)*
 * and     := not ("AND" not)*
 * not     := "NOT" not | primary
 * primary := "(" expr ")" | geo | foreign | element | field op value | field value "TO" value
 * | field ["NOT"] "IN" "[" [value ("," value)* [","]] "]"
 * | field "IS" ["NOT"] ("NULL" | "EMPTY") | field ["NOT"] "EXISTS"
 * | field ["NOT"] ("CONTAINS" | "STARTS" "WITH") value
 * foreign := "_foreign" "(" field "," expr ")"
 * element := "_element" "(" field "," expr ")"
 * value   := word | '…' | "…"        word := [alphanumeric _ - .]+
 *
 * Source: search §12.2.
 */

import { isDecimal } from '../../../parse/index.js'
import { excerpt, FilterError, foundIn } from './error.js'
import { BLANK, KEYWORDS, type Lexeme, LexemeBudget, lexemes } from './lexemes.js'
import type { Comparison, Condition, Filter, LatLng, Span } from './tree.js'

export interface FilterFeatures {
  readonly containsFilter: boolean
  /** Allows conditions on `_vectors`. */
  readonly multimodal: boolean
  /** Allows conditions on documents of other indexes. */
  readonly foreignKeys: boolean
}

/** Default number of corners when a circle is compared with shapes. */
const CIRCLE_CORNERS = 125

/** Source: Meilisearch's stack guard. A pair of parentheses costs 4, a `NOT` 1, a condition 3. */
const DEPTH_MAX = 150
const PARENTHESES_COST = 4
const CONDITION_COST = 3

/**
 * Parses the JSON value of a `filter`: an expression, or a list (AND) of expressions and lists (OR) of expressions.
 * @returns null for an empty filter @throws FilterError
 */
export function parseFilter(value: unknown, features: FilterFeatures): Filter | null {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return parseExpression(value, features, new LexemeBudget())
  if (!Array.isArray(value)) throw wrongShape(value)
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
  throw wrongShape(item)
}

const wrongShape = (found: unknown): FilterError =>
  new FilterError(
    'invalid value at `.filter`: expected a string or an array of strings and arrays of strings, found ' +
      `\`${excerpt(JSON.stringify(found))}\``,
  )

function parseExpression(text: string, features: FilterFeatures, budget: LexemeBudget): Filter | null {
  return BLANK.test(text) ? null : new ExpressionParser(text, features, budget).parse()
}

const VALUE = 'expected a value,'
const NUMBER = 'expected a finite number,'
const OPERATION =
  'expected an operation after the field (`=`, `!=`, `>=`, `>`, `<=`, `<`, `IN`, `NOT IN`, `TO`, `EXISTS`, `NOT EXISTS`, ' +
  '`IS NULL`, `IS NOT NULL`, `IS EMPTY`, `IS NOT EMPTY`, `CONTAINS`, `NOT CONTAINS`, `STARTS WITH`, `NOT STARTS WITH`, ' +
  '`_geoRadius`, `_geoBoundingBox` or `_geoPolygon`),'

const geoArguments = {
  _geoRadius:
    '`_geoRadius` takes a latitude, a longitude, a distance in metres and optionally a resolution, as in ' +
    '`_geoRadius(latitude, longitude, distance)`;',
  _geoBoundingBox:
    '`_geoBoundingBox` takes its top right and bottom left corners, as in ' +
    '`_geoBoundingBox([latitude, longitude], [latitude, longitude])`;',
  _geoPolygon:
    '`_geoPolygon` takes three points or more, as in ' +
    '`_geoPolygon([latitude, longitude], [latitude, longitude], [latitude, longitude])`;',
} as const

/** Source: messages of the API about disabled features. */
const experimentalFeatures = {
  containsFilter: { attempt: 'using `CONTAINS` in a filter', name: 'contains filter', discussion: 763 },
  multimodal: { attempt: 'using a vector filter', name: 'multimodal', discussion: 846 },
  foreignKeys: { attempt: 'using `_foreign` in a filter', name: 'foreign keys', discussion: 873 },
} as const

class ExpressionParser {
  private readonly text: string
  private readonly tokens: readonly Lexeme[]
  private readonly features: FilterFeatures
  private at = 0
  /** First use of a disabled feature; thrown only if the filter is otherwise valid. */
  private missingFeature: FilterError | null = null

  constructor(text: string, features: FilterFeatures, budget: LexemeBudget) {
    this.text = text
    this.tokens = lexemes(text, budget)
    this.features = features
  }

  parse(): Filter {
    const filter = this.alternatives(0)
    if (this.token.kind !== 'end') throw this.fault('expected `AND`, `OR` or the end of the filter,')
    if (this.missingFeature !== null) throw this.missingFeature
    return filter
  }

  private get token(): Lexeme {
    return this.tokens[this.at]!
  }

  private span(from: Lexeme = this.token, to: Lexeme = from): Span {
    return { text: this.text, start: from.start, end: to.end }
  }

  /** @param expected with its punctuation. The error points at a word, a single character or the end. */
  private fault(expected: string): FilterError {
    const at = this.blamed()
    return new FilterError(`${expected} found ${foundIn(at)}`, at)
  }

  private blamed(): Span {
    const { kind, start, end } = this.token
    const first = this.text.codePointAt(start)
    const isWhole = kind === 'word' || first === undefined
    return { text: this.text, start, end: isWhole ? end : start + String.fromCodePoint(first).length }
  }

  private missingFeatureError(feature: keyof typeof experimentalFeatures, at: Span): FilterError {
    const { attempt, name, discussion } = experimentalFeatures[feature]
    const reason = `${attempt} requires enabling the \`${name}\` experimental feature. See https://github.com/orgs/meilisearch/discussions/${discussion}`
    return new FilterError(reason, at, 'missingFeature')
  }

  private isWord(word: string): boolean {
    return this.token.kind === 'word' && this.token.text === word
  }

  /** True if the token after this one is an opening parenthesis. */
  private get opensNext(): boolean {
    const next = this.tokens[this.at + 1]
    return next?.kind === 'symbol' && next.text === '('
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

  private need(symbol: string, expected: string): void {
    if (!this.takeSymbol(symbol)) throw this.fault(expected)
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
    while (this.take('NOT')) this.checkDepth(depth + ++negations)
    const item = this.primary(depth + negations)
    return negations % 2 === 1 ? { kind: 'not', item } : item
  }

  private primary(depth: number): Filter {
    if (this.takeSymbol('(')) {
      this.checkDepth(depth + PARENTHESES_COST)
      const filter = this.alternatives(depth + PARENTHESES_COST)
      this.need(')', 'missing closing parenthesis,')
      return filter
    }
    return this.geo() ?? this.foreign(depth) ?? this.element(depth) ?? this.fieldCondition()
  }

  private checkDepth(depth: number): void {
    if (depth + CONDITION_COST <= DEPTH_MAX) return
    const reason = `the filter nests deeper than ${DEPTH_MAX} levels; remove some parentheses`
    throw new FilterError(reason, this.blamed())
  }

  private foreign(depth: number): Filter | null {
    const earlier = this.missingFeature
    const found = this.fieldWithFilter('_foreign', depth)
    if (found === null) return null
    // This error precedes those of the inner filter.
    if (!this.features.foreignKeys)
      this.missingFeature = earlier ?? this.missingFeatureError('foreignKeys', found.at)
    return { kind: 'foreign', ...found }
  }

  private element(depth: number): Filter | null {
    const found = this.fieldWithFilter('_element', depth)
    if (found === null) return null
    const misplaced = notAboutElements(found.item)
    if (misplaced !== null)
      throw new FilterError(
        `\`_element\` takes conditions on fields alone, found ${foundIn(misplaced)}`,
        misplaced,
      )
    return { kind: 'element', ...found }
  }

  /** Parses `name(field, filter)`; null if the next token is something else. */
  private fieldWithFilter(name: string, depth: number): { field: string; item: Filter; at: Span } | null {
    const start = this.token
    if (!this.isWord(name) || !this.opensNext) return null
    this.at++
    this.checkDepth(depth + PARENTHESES_COST)
    this.at++
    const expected = `\`${name}\` takes a field and a filter, as in \`${name}(field, filter)\`;`
    const field = this.operand(expected)
    this.need(',', expected)
    const item = this.alternatives(depth + PARENTHESES_COST)
    this.need(')', expected)
    return { field, item, at: this.span(start, this.tokens[this.at - 1]) }
  }

  private fieldCondition(): Filter {
    const token = this.token
    const field = this.operand('expected a field or `(`,')
    const at = this.span(token)
    if (isReserved(field)) throw new FilterError(reservedReason(foundIn(at)), at)
    if (token.kind === 'word' && /^_vectors(\.|$)/.test(field)) return this.vectors(token)
    const { condition, negated } = this.condition()
    const filter: Filter = { kind: 'condition', field, condition, at }
    return negated ? { kind: 'not', item: filter } : filter
  }

  /** Parses `_vectors[.embedder[.kind]] [NOT] EXISTS`; each name may be quoted. */
  private vectors(start: Lexeme): Filter {
    const names = this.restOfNames(start)
    const at = this.span(start, this.tokens[this.at - 1])
    if (!this.features.multimodal) this.missingFeature ??= this.missingFeatureError('multimodal', at)
    const negated = this.take('NOT')
    if (!this.take('EXISTS')) throw this.fault('`_vectors` can only be asked for `EXISTS` or `NOT EXISTS`;')
    const filter: Filter = { kind: 'vectors', names, at }
    return negated ? { kind: 'not', item: filter } : filter
  }

  /** Parses the names after `_vectors`: alternating dots and names, up to the first white space. */
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
    if (parts.some((part, at) => (part === DOT) !== (at % 2 === 0)) || names.length * 2 !== parts.length) {
      const at = this.span(start, this.tokens[this.at - 1])
      const expected = '`_vectors` takes names, each behind a dot, as in `_vectors.embedder`;'
      throw new FilterError(`${expected} found ${foundIn(at)}`, at)
    }
    return names
  }

  private condition(): { condition: Condition; negated: boolean } {
    const { kind, text } = this.token
    if (kind === 'symbol' && /^(!?=|[<>]=?)$/.test(text)) {
      this.at++
      const value = this.operand(VALUE)
      return { condition: { kind: 'compare', op: text as Comparison, value }, negated: false }
    }
    if (this.take('IS')) {
      const negated = this.take('NOT')
      if (this.take('NULL')) return { condition: { kind: 'null' }, negated }
      if (this.take('EMPTY')) return { condition: { kind: 'empty' }, negated }
      throw this.fault('expected `NULL`, `NOT NULL`, `EMPTY` or `NOT EMPTY` after `IS`,')
    }
    const negated = this.take('NOT')
    if (this.take('EXISTS')) return { condition: { kind: 'exists' }, negated }
    if (this.take('IN')) return { condition: { kind: 'in', values: this.list() }, negated }
    if (this.take('CONTAINS')) {
      const operand = this.token
      const value = this.operand(VALUE)
      if (!this.features.containsFilter)
        this.missingFeature ??= this.missingFeatureError('containsFilter', this.span(operand))
      return { condition: { kind: 'contains', value }, negated }
    }
    if (this.take('STARTS')) {
      if (!this.take('WITH')) throw this.fault('expected `WITH` after `STARTS`,')
      return { condition: { kind: 'startsWith', value: this.operand(VALUE) }, negated }
    }
    if (!negated && (kind === 'word' || kind === 'quoted') && !KEYWORDS.has(text)) {
      const start = this.token
      const from = this.operand(VALUE)
      if (this.take('TO'))
        return { condition: { kind: 'between', from, to: this.operand(VALUE) }, negated: false }
      if (this.token.kind !== 'end') throw this.fault('expected `TO` between two values,')
      const at = this.span(start)
      throw new FilterError(`${OPERATION} found ${foundIn(at)}`, at)
    }
    throw this.fault(OPERATION)
  }

  private list(): string[] {
    this.need('[', 'expected `[` after `IN`,')
    const values: string[] = []
    const expected = 'expected `,` or `]` in a list,'
    while (!this.takeSymbol(']')) {
      values.push(this.operand(expected))
      if (this.takeSymbol(',')) continue
      this.need(']', expected)
      break
    }
    return values
  }

  private operand(expected: string): string {
    const { kind, text } = this.token
    if (kind === 'quoted' || (kind === 'word' && !KEYWORDS.has(text))) {
      this.at++
      return text
    }
    if (kind !== 'word') throw this.fault(expected)
    const at = this.span()
    throw new FilterError(`${foundIn(at)} is a reserved keyword; quote it to use it as a text`, at)
  }

  private geo(): Filter | null {
    const start = this.token
    if (start.kind !== 'word' || !Object.hasOwn(geoArguments, start.text)) return null
    // Two of the names are keywords; `_geoPolygon` may also be a field.
    if (start.text === '_geoPolygon' && !this.opensNext) return null
    const expected = geoArguments[start.text as keyof typeof geoArguments]
    this.at++
    this.need('(', expected)
    return this.shape(start, expected)
  }

  private shape(start: Lexeme, expected: string): Filter & { kind: 'radius' | 'box' | 'polygon' } {
    const faults: Error[] = []
    const whole = (): Span => this.span(start, this.tokens[this.at - 1])
    if (start.text === '_geoRadius') {
      const center = this.point(expected, faults)
      this.need(',', expected)
      const metres = this.number()
      const at = this.takeSymbol(',') ? this.span() : null
      const resolution = at === null ? CIRCLE_CORNERS : this.number()
      this.need(')', expected)
      const corners = Math.trunc(resolution)
      if (at !== null && (corners < 3 || corners > 1000))
        faults.push(new FilterError(`bad resolution \`${resolution}\`: expected 3 to 1000`, at))
      return { kind: 'radius', center, metres, corners, fault: faults[0] ?? null, at: whole() }
    }
    const corners = [this.corner(expected, faults)]
    if (start.text === '_geoPolygon') {
      while (this.takeSymbol(',')) corners.push(this.corner(expected, faults))
      this.need(')', expected)
      const at = whole()
      if (corners.length < 3) throw new FilterError(`${expected} found ${foundIn(at)}`, at)
      return { kind: 'polygon', corners, fault: faults[0] ?? null, at }
    }
    this.need(',', expected)
    corners.push(this.corner(expected, faults))
    this.need(')', expected)
    const [topRight, bottomLeft] = corners as [LatLng, LatLng]
    const [top, bottom] = [topRight[0], bottomLeft[0]]
    if (top < bottom) {
      const reason = `the top latitude \`${top}\` is below the bottom latitude \`${bottom}\``
      faults.push(new FilterError(reason, whole()))
    }
    return { kind: 'box', topRight, bottomLeft, fault: faults[0] ?? null, at: whole() }
  }

  private corner(expected: string, faults: Error[]): LatLng {
    this.need('[', expected)
    const point = this.point(expected, faults)
    this.need(']', expected)
    return point
  }

  private number(): number {
    const at = this.span()
    const number = numberIn(this.operand(NUMBER))
    if (number === null) throw new FilterError(`${NUMBER} found ${foundIn(at)}`, at)
    return number
  }

  /** @param faults receives numbers out of range */
  private point(expected: string, faults: Error[]): LatLng {
    const within = (name: string, most: number): number => {
      const at = this.span()
      const number = this.number()
      if (Math.abs(number) > most)
        faults.push(new FilterError(`bad ${name} \`${number}\`: expected ${-most} to ${most}`, at))
      return number
    }
    const lat = within('latitude', 90)
    this.need(',', expected)
    return [lat, within('longitude', 180)]
  }
}

/** Position of the first part of a filter that is not a condition on fields of an element; null if there is none. */
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

/** Parses a finite number, null if `text` is not a number. */
export const numberIn = (text: string): number | null => {
  const value = isDecimal(text) ? Number(text) : Number.NaN
  return Number.isFinite(value) ? value : null
}

/** Returns true if conditions on the field are always refused. */
export const isReserved = (field: string): boolean => /^_geo(Distance|Point)?$/.test(field)

/** @param shown the field, in backticks */
export const reservedReason = (shown: string): string =>
  `${shown} is reserved and cannot be filtered on; use \`_geoRadius(latitude, longitude, distance)\` or ` +
  '`_geoBoundingBox([latitude, longitude], [latitude, longitude])`'
