import { ApiError } from '../errors/index.js'
import {
  defaultJsonLimits,
  type JsonLimits,
  LITERAL_CHARS_MAX,
  NUMBERS_CHARS_MAX,
  NUMBERS_PER_VALUE,
  SLICE_MS,
  STEPS_PER_LOOK,
} from './limits.js'
import { shortInteger } from './literals.js'

/**
 * A JSON value as it was written: keys in payload order, numbers as their own text.
 *
 * `JSON.parse` forgets both, and the API needs them: the first mistake in payload order is the one
 * reported, and `1.0` is not an integer.
 */
export type JsonNode =
  | { readonly kind: 'null' }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[]; readonly numbers?: readonly number[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, JsonNode])[] }

const NULL: JsonNode = { kind: 'null' }
const TRUE: JsonNode = { kind: 'boolean', value: true }
const FALSE: JsonNode = { kind: 'boolean', value: false }

/**
 * Reads one JSON value from UTF-8 bytes.
 * @throws ApiError `missing_payload` for an empty body, `payload_too_large` for more values than `limits` allow,
 * `malformed_payload` for anything that is not JSON or is nested too deeply
 */
export function readJson(body: Uint8Array, limits: JsonLimits = defaultJsonLimits): JsonNode {
  return new Walk(decoded(body), limits).finish()
}

/** As `readJson`, for text that is already decoded. */
export function readJsonText(text: string): JsonNode {
  return new Walk(text, defaultJsonLimits).finish()
}

/**
 * As `readJson`, a slice at a time.
 * @param nextSlice called before each slice with the number of values that the slice before has read; what it throws
 * ends the reading
 */
export async function readJsonInSlices(
  body: Uint8Array,
  limits: JsonLimits,
  nextSlice: (valuesRead: number) => Promise<void>,
): Promise<JsonNode> {
  await nextSlice(0)
  const walk = new Walk(decoded(body), limits)
  let valuesBefore = 0
  while (!walk.advance(performance.now() + SLICE_MS)) {
    await nextSlice(walk.values - valuesBefore)
    valuesBefore = walk.values
  }
  // The caller's own work on the value is a slice too.
  await nextSlice(walk.values - valuesBefore)
  return walk.finish()
}

function decoded(body: Uint8Array): string {
  if (body.length === 0) throw new ApiError('missing_payload', 'a json payload is missing from the request')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    throw malformed('the body is not valid UTF-8')
  }
}

/** The plain JavaScript value; `__proto__` stays an ordinary own key. */
export function toValue(node: JsonNode): unknown {
  switch (node.kind) {
    case 'null':
      return null
    case 'number':
      return Number(node.text)
    case 'array':
      return node.numbers?.slice() ?? node.items.map(toValue)
    case 'object':
      return Object.fromEntries(node.entries.map(([key, value]) => [key, toValue(value)]))
    default:
      return node.value
  }
}

/** The node as JSON text, numbers as they were sent. */
export function toText(node: JsonNode): string {
  switch (node.kind) {
    case 'null':
      return 'null'
    case 'number':
      return node.text
    case 'array':
      return `[${node.items.map(toText).join(',')}]`
    case 'object':
      return `{${node.entries.map(([key, value]) => `${JSON.stringify(key)}:${toText(value)}`).join(',')}}`
    default:
      return JSON.stringify(node.value)
  }
}

/** What was found, in the words of error messages: kind and literal (`null` has none). */
export function found(node: JsonNode): string {
  return node.kind === 'null' ? 'null' : `${kindWords(node)}: \`${shortened(startOf(node))}\``
}

/** `text` as messages show it. */
function shortened(text: string): string {
  return text.length > LITERAL_CHARS_MAX ? `${text.slice(0, LITERAL_CHARS_MAX)}…` : text
}

/** `toText` of the node, or as much of it as messages show and a little more. */
function startOf(node: JsonNode): string {
  let text = ''
  // False once enough is written: a refused body may hold a million values.
  const write = (one: JsonNode): boolean => {
    if (text.length > LITERAL_CHARS_MAX) return false
    if (one.kind === 'array') {
      text += '['
      const isWhole = one.items.every((item, i) => {
        if (i > 0) text += ','
        return write(item)
      })
      text += ']'
      return isWhole
    }
    if (one.kind === 'object') {
      text += '{'
      const isWhole = one.entries.every(([key, value], i) => {
        text += `${i > 0 ? ',' : ''}${JSON.stringify(key)}:`
        return write(value)
      })
      text += '}'
      return isWhole
    }
    text += toText(one)
    return true
  }
  write(node)
  return text
}

function kindWords(node: JsonNode): string {
  switch (node.kind) {
    case 'number':
      if (isUnsigned(node.text)) return 'a positive integer'
      return /^-\d+$/.test(node.text) ? 'a negative integer' : 'a number'
    case 'array':
    case 'object':
      return `an ${node.kind}`
    default:
      return `a ${node.kind}`
  }
}

const U64_MAX = 18446744073709551615n

/** Whether a number token is an unsigned 64-bit integer. */
export function isUnsigned(text: string): boolean {
  if (!/^\d+$/.test(text)) return false
  const value = shortInteger(text)
  return value !== null && value <= U64_MAX
}

function malformed(reason: string): ApiError {
  return new ApiError('malformed_payload', `the json payload is malformed: ${reason}`)
}

/** Numbers without an exponent and with at most this many characters are in the range of a double. */
const PLAIN_CHARS_MAX = 300

/** A number as JSON writes it. */
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y

/** What may be a list of numbers; `JSON.parse` decides. */
const listOfNumbers = /\[[-+.,eE\d \t\n\r]+\]/y

/** A character that a JSON string has to escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these
const control = /[\u0000-\u001f]/

/** A vector has hundreds of numbers; the text of each is worked out only to complain about one. */
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

/** An array or an object that has not been closed yet. */
type Open =
  | { readonly kind: 'array'; readonly items: JsonNode[] }
  | { readonly kind: 'object'; readonly entries: [string, JsonNode][] }

/** What the grammar allows next. `end`: nothing but blanks. */
type Expected = 'value' | 'first item' | 'first key' | 'separator' | 'end'

/**
 * Reads JSON text, strictly, as far as it is told to.
 *
 * The open arrays and objects lie in a list rather than on the stack of calls, so that reading can stop after any
 * value and go on later.
 */
class Walk {
  /** Values read, as `JsonLimits` counts them. */
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

  /** Reads to the end or until the time of `performance.now()` is up. @returns whether the end is reached */
  advance(untilMs: number): boolean {
    for (;;) {
      for (let steps = 0; steps < STEPS_PER_LOOK; steps++) if (!this.#step()) return true
      if (performance.now() > untilMs) return false
    }
  }

  /** Reads one value, separator or end. @returns whether anything is left */
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

  /** Adds a whole value to what encloses it. */
  #put(node: JsonNode): void {
    const around = this.#open.at(-1)
    if (around === undefined) {
      this.#root = node
      this.#expected = 'end'
      return
    }
    if (around.kind === 'array') around.items.push(node)
    else around.entries[around.entries.length - 1]![1] = node
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

  /** Reads a key and its colon. */
  #key(code: number): void {
    if (code !== QUOTE) throw this.#unexpected('a key in double quotes')
    const around = this.#open.at(-1)
    // The value takes the place of this null as soon as it is read.
    if (around?.kind === 'object') around.entries.push([this.#string(), NULL])
    if (this.#blanks() !== COLON) throw this.#unexpected('`:`')
    this.#at += 1
    this.#expected = 'value'
  }

  /** A short list of numbers in range; null, and nothing is read, if it is anything else. */
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
      // Read one by one, the mistake is found with its position.
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
    // Space, tab, line feed and carriage return are all of JSON's blanks.
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
