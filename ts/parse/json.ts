import { ApiError } from '../errors/index.js'
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

/** Deeper nesting is refused as malformed. Source: the limit of the reference's JSON reader. */
const DEPTH_MAX = 128
/**
 * Values of one body. A value takes a hundred bytes while it is read, however short it is written, so that a body
 * within the limit of its bytes could still fill the memory.
 */
const VALUES_MAX = 2_000_000
/** Characters of an offending literal that messages show. */
const LITERAL_CHARS_MAX = 200

const NULL: JsonNode = { kind: 'null' }
const TRUE: JsonNode = { kind: 'boolean', value: true }
const FALSE: JsonNode = { kind: 'boolean', value: false }

/**
 * Reads one JSON value from UTF-8 bytes.
 * @throws ApiError `missing_payload` for an empty body, `payload_too_large` for millions of values,
 * `malformed_payload` for anything that is not JSON
 */
export function readJson(body: Uint8Array): JsonNode {
  if (body.length === 0) throw new ApiError('missing_payload', 'a json payload is missing from the request')
  requireFew(body)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    throw malformed('the body is not valid UTF-8')
  }
  return readJsonText(text)
}

/** @throws ApiError `payload_too_large` for a body of more than `VALUES_MAX` values */
function requireFew(body: Uint8Array): void {
  // Two bytes are the least that a value takes, with what separates it from the next.
  if (body.length <= 2 * VALUES_MAX) return
  let values = 0
  let inString = false
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]
    if (inString) {
      if (byte === BACKSLASH) i += 1
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    // Every value but the first of its array or object comes after a comma, the first after a bracket.
    else if (byte === COMMA || byte === BRACKET || byte === BRACE) values += 1
  }
  if (values > VALUES_MAX) {
    throw new ApiError('payload_too_large', `the payload holds more than the accepted ${VALUES_MAX} values`)
  }
}

const [QUOTE, COMMA, BRACKET, BRACE, BACKSLASH] = [...Buffer.from('",[{\\')]

/** As `readJson`, for text that is already decoded. */
export function readJsonText(text: string): JsonNode {
  let parsed: unknown
  try {
    // The platform's parser is the judge of the grammar; the walk below may then trust its input.
    parsed = JSON.parse(text)
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error))
  }
  try {
    return new Walk(text).value(0, parsed)
  } catch (error) {
    if (error === REPEATED) return new Walk(text).value(0, undefined)
    throw error
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
      return node.items.map(toValue)
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
  if (node.kind === 'null') return 'null'
  const text = toText(node)
  const shown = text.length > LITERAL_CHARS_MAX ? `${text.slice(0, LITERAL_CHARS_MAX)}…` : text
  return `${kindWords(node)}: \`${shown}\``
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

/** Which ASCII characters numbers are made of. */
const inNumber = Array.from({ length: 128 }, (_, code) => /[-+.0-9eE]/.test(String.fromCharCode(code)))
/** Shorter numbers without an exponent are in the range of a double. */
const PLAIN_CHARS_MAX = 300

/** A list of numbers, where the text is known to be JSON. */
const listOfNumbers = /\[[-+.,eE\d \t\n\r]+\]/y

/** Vectors are hundreds of numbers; what each looked like is worked out only to complain about one. */
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

/** Thrown where an object has a key twice: what the platform read of it is its last value alone. */
const REPEATED = new Error('an object has a key twice')

/** An object as the platform read it, unless a repeated key hides it. */
type Known = Readonly<Record<string, unknown>> | null | undefined

/** Walks text that is known to be JSON. */
class Walk {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /**
   * The value that begins here.
   * @param parsed the same value as the platform read it, so that hundreds of numbers are not read twice; undefined
   * where that is not known
   * @throws `REPEATED` if something of `parsed` may belong to another value of the text
   */
  value(depth: number, parsed: unknown): JsonNode {
    if (depth > DEPTH_MAX) throw malformed(`values are nested deeper than ${DEPTH_MAX} levels`)
    this.#blanks()
    switch (this.#text[this.#at]) {
      case '{':
        return { kind: 'object', entries: this.#entries(depth, parsed as Known) }
      case '[':
        return this.#list(depth, parsed as readonly unknown[] | undefined)
      case '"':
        return { kind: 'string', value: this.#string() }
      case 't':
        this.#at += 4
        return TRUE
      case 'f':
        this.#at += 5
        return FALSE
      case 'n':
        this.#at += 4
        return NULL
      default:
        return { kind: 'number', text: this.#number() }
    }
  }

  #entries(depth: number, parsed: Known): [string, JsonNode][] {
    const entries: [string, JsonNode][] = []
    this.#at += 1
    while (this.#next() !== '}') {
      if (this.#text[this.#at] === ',') this.#at += 1
      this.#blanks()
      const key = this.#string()
      this.#blanks()
      this.#at += 1
      entries.push([key, this.value(depth + 1, parsed?.[key])])
    }
    this.#at += 1
    const isKnown = parsed !== undefined && parsed !== null
    if (isKnown && Object.keys(parsed).length !== entries.length) throw REPEATED
    return entries
  }

  #list(depth: number, parsed: readonly unknown[] | undefined): JsonNode {
    return this.#numbers(depth, parsed) ?? { kind: 'array', items: this.#items(depth, parsed) }
  }

  /** A list of numbers in range; null, and nothing is read, if it is anything else. */
  #numbers(depth: number, parsed: readonly unknown[] | undefined): JsonNode | null {
    listOfNumbers.lastIndex = this.#at
    if (depth >= DEPTH_MAX || !listOfNumbers.test(this.#text)) return null
    const text = this.#text.slice(this.#at, listOfNumbers.lastIndex)
    const numbers = (Array.isArray(parsed) ? parsed : JSON.parse(text)) as readonly number[]
    if (!numbers.every(Number.isFinite)) return null
    this.#at = listOfNumbers.lastIndex
    return new Numbers(text, numbers)
  }

  #items(depth: number, parsed: readonly unknown[] | undefined): JsonNode[] {
    const items: JsonNode[] = []
    this.#at += 1
    while (this.#next() !== ']') {
      if (this.#text[this.#at] === ',') this.#at += 1
      items.push(this.value(depth + 1, parsed?.[items.length]))
    }
    this.#at += 1
    return items
  }

  #string(): string {
    const start = this.#at
    let end = this.#text.indexOf('"', start + 1)
    while (this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1)
    this.#at = end + 1
    const raw = this.#text.slice(start + 1, end)
    if (!raw.includes('\\')) return raw
    const value = JSON.parse(this.#text.slice(start, end + 1)) as string
    if (/\p{Surrogate}/u.test(value)) throw malformed(`the string ${raw} has half of a surrogate pair`)
    return value
  }

  #isEscaped(quote: number): boolean {
    let backslashes = 0
    while (this.#text[quote - 1 - backslashes] === '\\') backslashes += 1
    return backslashes % 2 === 1
  }

  #number(): string {
    const whole = this.#text
    let end = this.#at
    while (inNumber[whole.charCodeAt(end)]) end += 1
    const text = whole.slice(this.#at, end)
    this.#at = end
    const isPlain = text.length < PLAIN_CHARS_MAX && !text.includes('e') && !text.includes('E')
    if (!isPlain && !Number.isFinite(Number(text))) throw malformed(`the number ${text} is out of range`)
    return text
  }

  #next(): string | undefined {
    this.#blanks()
    return this.#text[this.#at]
  }

  #blanks(): void {
    // Space, tab, line feed and carriage return are all of JSON's blanks.
    let code = this.#text.charCodeAt(this.#at)
    while (code === 32 || code === 10 || code === 13 || code === 9) code = this.#text.charCodeAt(++this.#at)
  }
}
