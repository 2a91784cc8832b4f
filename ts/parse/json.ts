import { ApiError } from '../errors/index.js'
import { type JsonNode, shortened } from './json-node.js'
import {
  defaultJsonLimits,
  type JsonLimits,
  NUMBERS_CHARS_MAX,
  NUMBERS_PER_VALUE,
  SLICE_MS,
  STEPS_PER_CHECK,
} from './limits.js'

const NULL: JsonNode = { kind: 'null' }
const TRUE: JsonNode = { kind: 'boolean', value: true }
const FALSE: JsonNode = { kind: 'boolean', value: false }

/**
 * Reads a JSON value from UTF-8 bytes.
 * @throws ApiError `missing_payload` for an empty body, `payload_too_large` for more values than `limits` allow,
 * `malformed_payload` for anything that is not JSON or is nested too deeply
 */
export function readJson(body: Uint8Array, limits: JsonLimits = defaultJsonLimits): JsonNode {
  return new JsonParser(decoded(body), limits).finish()
}

/** Like `readJson`, for decoded text. */
export function readJsonText(text: string): JsonNode {
  return new JsonParser(text, defaultJsonLimits).finish()
}

/**
 * Like `readJson`, in slices.
 * @param nextSlice called before each slice with the number of values read in the previous slice. Reading ends if it
 * throws.
 */
export async function readJsonInSlices(
  body: Uint8Array,
  limits: JsonLimits,
  nextSlice: (valuesRead: number) => Promise<void>,
): Promise<JsonNode> {
  await nextSlice(0)
  const parser = new JsonParser(decoded(body), limits)
  let valuesBefore = 0
  while (!parser.advance(performance.now() + SLICE_MS)) {
    await nextSlice(parser.values - valuesBefore)
    valuesBefore = parser.values
  }
  // The caller processes the value in its own slice.
  await nextSlice(parser.values - valuesBefore)
  return parser.finish()
}

function decoded(body: Uint8Array): string {
  if (body.length === 0) throw new ApiError('missing_payload', 'a json payload is missing from the request')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    throw malformed('the body is not valid UTF-8')
  }
}

function malformed(reason: string): ApiError {
  return new ApiError('malformed_payload', `the json payload is malformed: ${reason}`)
}

/** A number without an exponent is in the range of a double if it has at most this many characters. */
const PLAIN_CHARS_MAX = 300

/** A number in JSON. */
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y

/** An array that may consist of numbers. `JSON.parse` decides. */
const listOfNumbers = /\[[-+.,eE\d \t\n\r]+\]/y

/** A character that a JSON string must escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these
const control = /[\u0000-\u001f]/

/**
 * An array of numbers. A vector has hundreds, so the nodes of its numbers are only created on request.
 */
class Numbers {
  readonly kind = 'array'
  readonly numbers: readonly number[]
  readonly #text: string

  constructor(text: string, numbers: readonly number[]) {
    this.#text = text
    this.numbers = numbers
  }

  get items(): readonly JsonNode[] {
    const texts = this.#text.slice(1, -1).split(',')
    return this.numbers.map((_, at) => ({ kind: 'number', text: (texts[at] ?? '').trim() }))
  }
}

/** An array or object that is not closed yet. */
type Open =
  | { readonly kind: 'array'; readonly items: JsonNode[] }
  | { readonly kind: 'object'; readonly entries: [string, JsonNode][] }

/** The next expected token. `end`: only blanks may follow. */
type Expected = 'value' | 'first item' | 'first key' | 'separator' | 'end'

/**
 * A strict JSON parser that can pause.
 *
 * Open arrays and objects are in a list, not on the call stack, so the parser can stop after any value and continue
 * later.
 */
class JsonParser {
  /** Number of values read, as counted for `JsonLimits`. */
  values = 0
  readonly #text: string
  readonly #limits: JsonLimits
  readonly #open: Open[] = []
  #at = 0
  #expected: Expected = 'value'
  #root: JsonNode = NULL

  constructor(text: string, limits: JsonLimits) {
    this.#text = text
    this.#limits = limits
  }

  /** Reads to the end. @returns the value */
  finish(): JsonNode {
    while (this.#step());
    return this.#root
  }

  /**
   * Reads until the end or the time `untilMs`. @param untilMs by `performance.now()` @returns true at the end
   */
  advance(untilMs: number): boolean {
    for (;;) {
      for (let steps = 0; steps < STEPS_PER_CHECK; steps++) if (!this.#step()) return true
      if (performance.now() > untilMs) return false
    }
  }

  /** Reads one value, separator or end. @returns false at the end */
  #step(): boolean {
    const code = this.#blanks()
    switch (this.#expected) {
      case 'value':
        this.#value(code)
        return true
      case 'first item':
        if (code === CLOSE_BRACKET) this.#close()
        else this.#value(code)
        return true
      case 'first key':
        if (code === CLOSE_BRACE) this.#close()
        else this.#key(code)
        return true
      case 'separator':
        this.#separator(code)
        return true
      default:
        if (this.#at < this.#text.length) throw this.#unexpected('the end')
        return false
    }
  }

  #value(code: number): void {
    const depth = this.#open.length
    const { depthMax, valuesMax } = this.#limits
    if (depth > depthMax) throw malformed(`values are nested deeper than ${depthMax} levels`)
    this.values += 1
    if (this.values > valuesMax) throw tooMany(valuesMax)
    const numbers = code === OPEN_BRACKET ? this.#numbers(depth) : null
    if (numbers !== null) this.#put(numbers)
    else if (code === OPEN_BRACE) this.#begin({ kind: 'object', entries: [] }, 'first key')
    else if (code === OPEN_BRACKET) this.#begin({ kind: 'array', items: [] }, 'first item')
    else this.#put(this.#scalar(code))
  }

  #begin(node: Open, expected: Expected): void {
    this.#at += 1
    this.#open.push(node)
    this.#expected = expected
  }

  #scalar(code: number): JsonNode {
    switch (code) {
      case QUOTE:
        return { kind: 'string', value: this.#string() }
      case LOWER_T:
        return this.#literal('true', TRUE)
      case LOWER_F:
        return this.#literal('false', FALSE)
      case LOWER_N:
        return this.#literal('null', NULL)
      default:
        return { kind: 'number', text: this.#number() }
    }
  }

  /** Adds a complete value to the enclosing array or object. */
  #put(node: JsonNode): void {
    const parent = this.#open.at(-1)
    if (parent === undefined) {
      this.#root = node
      this.#expected = 'end'
      return
    }
    if (parent.kind === 'array') parent.items.push(node)
    else parent.entries[parent.entries.length - 1]![1] = node
    this.#expected = 'separator'
  }

  #close(): void {
    this.#at += 1
    this.#put(this.#open.pop()!)
  }

  #separator(code: number): void {
    const { kind } = this.#open.at(-1)!
    if (code === COMMA) {
      this.#at += 1
      if (kind === 'array') this.#expected = 'value'
      else this.#key(this.#blanks())
    } else if (code === (kind === 'array' ? CLOSE_BRACKET : CLOSE_BRACE)) this.#close()
    else throw this.#unexpected(kind === 'array' ? '`,` or `]`' : '`,` or `}`')
  }

  /** Reads a key and the colon after it. */
  #key(code: number): void {
    if (code !== QUOTE) throw this.#unexpected('a key in double quotes')
    const parent = this.#open.at(-1)
    // `#put` replaces this null by the value.
    if (parent?.kind === 'object') parent.entries.push([this.#string(), NULL])
    if (this.#blanks() !== COLON) throw this.#unexpected('`:`')
    this.#at += 1
    this.#expected = 'value'
  }

  /** Reads a short array of numbers in the range of a double. Otherwise reads nothing and returns null. */
  #numbers(depth: number): JsonNode | null {
    listOfNumbers.lastIndex = this.#at
    if (depth >= this.#limits.depthMax || !listOfNumbers.test(this.#text)) return null
    const end = listOfNumbers.lastIndex
    if (end - this.#at > NUMBERS_CHARS_MAX) return null
    const text = this.#text.slice(this.#at, end)
    let numbers: readonly number[]
    try {
      numbers = JSON.parse(text) as readonly number[]
    } catch {
      // Reading the items separately finds the mistake and its position.
      return null
    }
    if (!numbers.every(Number.isFinite)) return null
    this.values += Math.ceil(numbers.length / NUMBERS_PER_VALUE)
    if (this.values > this.#limits.valuesMax) throw tooMany(this.#limits.valuesMax)
    this.#at = end
    return new Numbers(text, numbers)
  }

  #string(): string {
    const start = this.#at
    let end = this.#text.indexOf('"', start + 1)
    while (this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1)
    if (end === -1) throw malformed('a string has no end')
    this.#at = end + 1
    const raw = this.#text.slice(start + 1, end)
    if (control.test(raw)) throw malformed(`the string \`${shortened(raw)}\` has a control character`)
    if (!raw.includes('\\')) return raw
    let value: string
    try {
      value = JSON.parse(this.#text.slice(start, end + 1)) as string
    } catch {
      throw malformed(`the string \`${shortened(raw)}\` has an escape that JSON does not know`)
    }
    if (/\p{Surrogate}/u.test(value))
      throw malformed(`the string \`${shortened(raw)}\` has half of a surrogate pair`)
    return value
  }

  #isEscaped(quote: number): boolean {
    let backslashes = 0
    while (this.#text[quote - 1 - backslashes] === '\\') backslashes += 1
    return backslashes % 2 === 1
  }

  #literal(word: string, node: JsonNode): JsonNode {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('a value')
    this.#at += word.length
    return node
  }

  #number(): string {
    number.lastIndex = this.#at
    if (!number.test(this.#text)) throw this.#unexpected('a value')
    const text = this.#text.slice(this.#at, number.lastIndex)
    this.#at = number.lastIndex
    const isPlain = text.length < PLAIN_CHARS_MAX && !text.includes('e') && !text.includes('E')
    if (!isPlain && !Number.isFinite(Number(text)))
      throw malformed(`the number ${shortened(text)} is out of range`)
    return text
  }

  /** Skips blanks. @returns the code of the next character, NaN at the end */
  #blanks(): number {
    // The blanks of JSON are space, line feed, carriage return and tab.
    let code = this.#text.charCodeAt(this.#at)
    while (code === 32 || code === 10 || code === 13 || code === 9) code = this.#text.charCodeAt(++this.#at)
    return code
  }

  #unexpected(expected: string): ApiError {
    const [character] = this.#text.slice(this.#at, this.#at + 2)
    const found = character === undefined ? 'the end' : `\`${character}\``
    return malformed(`expected ${expected} at character ${this.#at + 1}, found ${found}`)
  }
}

const tooMany = (valuesMax: number): ApiError =>
  new ApiError('payload_too_large', `the payload holds more than the accepted ${valuesMax} values`)

const [QUOTE, COMMA, COLON, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE, LOWER_T, LOWER_F, LOWER_N] =
  [...Buffer.from('",:[]{}tfn')] as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ]
