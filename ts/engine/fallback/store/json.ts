/**
 * Lossless JSON parser and writer.
 *
 * `JSON.parse` loses details that documents must keep: the order of number-like keys, `1.0`, integers above 2^53. Here
 * objects are maps, and numbers keep their text.
 */

import { shortInteger } from '../../../parse/index.js'

/** A number and its text: 64-bit integers exactly, all others as the shortest double. */
export class JsonNumber {
  readonly text: string
  readonly value: number
  constructor(text: string, value: number) {
    this.text = text
    this.value = value
  }
}

export type JsonObject = Map<string, Json>
export type Json = null | boolean | string | JsonNumber | Json[] | JsonObject

/** A syntax error, with its UTF-16 offset. */
export class JsonError extends Error {
  readonly reason: string
  readonly offset: number
  constructor(reason: string, offset: number) {
    super(`${reason} at offset ${offset}`)
    this.reason = reason
    this.offset = offset
  }
}

/** Maximum number of containers around a value. Source: serde_json's recursion limit, which users of the API know. */
const DEPTH_MAX = 127

const I64_MIN = -(2n ** 63n)
const U64_MAX = 2n ** 64n - 1n

/**
 * Formats a double like the API: shortest digits, always with a point or an exponent. Plain notation up to 16 digits
 * before the point and 4 zeros after it. Source: Rust's `ryu`.
 */
export function floatText(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [mantissa, exponentText] = Math.abs(value).toExponential().split('e') as [string, string]
  const digits = mantissa.replace('.', '')
  const point = Number(exponentText) + 1
  const sign = value < 0 ? '-' : ''
  if (digits.length <= point && point <= 16) return `${sign}${digits.padEnd(point, '0')}.0`
  if (point > 0 && point <= 16) return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
  if (point > -5 && point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  const exponent = point - 1
  const tail = digits.length > 1 ? `.${digits.slice(1)}` : ''
  return `${sign}${digits[0]}${tail}e${exponent < 0 ? '-' : '+'}${Math.abs(exponent)}`
}

/** Parses a JSON number literal. @throws JsonError if it overflows a double */
export function numberFrom(literal: string, offset = 0): JsonNumber {
  if (/^-?\d+$/.test(literal)) {
    if (literal.length < 16 && literal !== '-0') return new JsonNumber(literal, Number(literal))
    const exact = shortInteger(literal)
    if (exact !== null && exact !== 0n && exact >= I64_MIN && exact <= U64_MAX)
      return new JsonNumber(literal, Number(literal))
  }
  const value = Number(literal)
  if (!Number.isFinite(value)) throw new JsonError('number out of range', offset)
  return new JsonNumber(floatText(value), value)
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

class Parser {
  private at = 0
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  document(): Json {
    const value = this.value(0)
    this.blanks()
    if (this.at < this.text.length) throw new JsonError('trailing characters', this.at)
    return value
  }

  private blanks(): void {
    for (; this.at < this.text.length; this.at++) {
      const code = this.text.charCodeAt(this.at)
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return
    }
  }

  private value(depth: number): Json {
    this.blanks()
    const first = this.text[this.at]
    if (first === '"') return this.string()
    if (first === '{' || first === '[') {
      if (depth >= DEPTH_MAX) throw new JsonError('recursion limit exceeded', this.at)
      return first === '{' ? this.object(depth) : this.array(depth)
    }
    if (first === 't') return this.word('true', true)
    if (first === 'f') return this.word('false', false)
    if (first === 'n') return this.word('null', null)
    if (first === undefined) throw new JsonError('unexpected end of the text while reading a value', this.at)
    NUMBER.lastIndex = this.at
    const literal = NUMBER.exec(this.text)?.[0]
    if (literal === undefined) throw new JsonError('expected value', this.at)
    this.at += literal.length
    return numberFrom(literal, this.at)
  }

  private word<T extends Json>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.at)) throw new JsonError(`expected ident \`${word}\``, this.at)
    this.at += word.length
    return value
  }

  private string(): string {
    const start = this.at
    let escaped = false
    for (let at = start + 1; at < this.text.length; at++) {
      const code = this.text.charCodeAt(at)
      if (code === 34) {
        this.at = at + 1
        return escaped ? this.unescaped(start, at + 1) : this.text.slice(start + 1, at)
      }
      if (code === 92) {
        escaped = true
        at++
      } else if (code < 32) throw new JsonError('control character found while parsing a string', at)
    }
    throw new JsonError('unexpected end of the text while reading a string', this.text.length)
  }

  private unescaped(start: number, end: number): string {
    let value: string
    try {
      value = JSON.parse(this.text.slice(start, end)) as string
    } catch {
      throw new JsonError('invalid escape', start)
    }
    if (LONE_SURROGATE.test(value)) throw new JsonError('lone surrogate in an escape', start)
    return value
  }

  private array(depth: number): Json[] {
    const items: Json[] = []
    this.at++
    this.blanks()
    if (this.text[this.at] === ']') {
      this.at++
      return items
    }
    for (;;) {
      items.push(this.value(depth + 1))
      this.blanks()
      const next = this.text[this.at]
      if (next !== ',' && next !== ']') throw this.expected('`,` or `]`')
      this.at++
      if (next === ']') return items
    }
  }

  private object(depth: number): JsonObject {
    const entries: JsonObject = new Map()
    this.at++
    this.blanks()
    if (this.text[this.at] === '}') {
      this.at++
      return entries
    }
    for (;;) {
      this.blanks()
      if (this.text[this.at] !== '"') throw this.expected('a string as key')
      const key = this.string()
      this.blanks()
      if (this.text[this.at] !== ':') throw this.expected('`:`')
      this.at++
      entries.set(key, this.value(depth + 1))
      this.blanks()
      const next = this.text[this.at]
      if (next !== ',' && next !== '}') throw this.expected('`,` or `}`')
      this.at++
      if (next === '}') return entries
    }
  }

  private expected(what: string): JsonError {
    const ended = this.at >= this.text.length
    return new JsonError(ended ? 'unexpected end of the text' : `expected ${what}`, this.at)
  }
}

/** Parses a JSON value. A repeated key keeps its first position and its last value. @throws JsonError */
export const parseJson = (text: string): Json => new Parser(text).document()

/** Writes JSON without white space; `parseJson` returns the same value. */
export function writeJson(value: Json): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (value instanceof JsonNumber) return value.text
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`
  let text = ''
  for (const [key, item] of value)
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${writeJson(item)}`
  return `{${text}}`
}
