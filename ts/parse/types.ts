import { ApiError, type ErrorCode } from '../errors/index.js'
import { found, isUnsigned, type JsonNode, readJsonText, toValue } from './json.js'
import { isDecimal, isHttpUrl } from './literals.js'
import { namedSchema, orNull, type Schema } from './schema.js'
import { choices } from './suggestion.js'

/** Where a value stands in the request, and the code its errors carry. */
export interface At {
  /** `.a.b[0]` in a body, the bare name in a query string, empty at the root. */
  readonly path: string
  readonly code: ErrorCode
}

/** How one kind of value is read from a body and from a query string. */
export interface Type<T> {
  /** What was expected, in the words of error messages: `a positive integer`. */
  readonly expected: string
  /** What is accepted, for documents that describe the API. */
  readonly schema: Schema
  json(node: JsonNode, at: At): T
  text(text: string, at: At): T
}

/** Largest integer of the API's small counters and ids (tasks, batches). */
export const U32_MAX = 4_294_967_295

const where = (at: At): string => (at.path === '' ? '' : ` at \`${at.path}\``)

/** A value of the wrong JSON kind. */
export function wrongType(expected: string, node: JsonNode, at: At): ApiError {
  return new ApiError(at.code, `wrong type${where(at)}: expected ${expected}, found ${found(node)}`)
}

/** A value of the right kind that is not acceptable. `reason` names the value. */
export function badValue(reason: string, at: At): ApiError {
  return new ApiError(at.code, `bad value${where(at)}: ${reason}`)
}

/** A name that is none of the accepted ones, with the nearest of them. `what`: `field`, `parameter`, `value`. */
export function unknownName(what: string, name: string, accepted: readonly string[], at: At): ApiError {
  const inside = at.path === '' ? '' : ` inside \`${at.path}\``
  return new ApiError(at.code, `unknown ${what} \`${shortened(name)}\`${inside}: ${choices(name, accepted)}`)
}

/** Long values are cut so that a message cannot be larger than a log line. */
const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)

const textNode = (text: string): JsonNode => ({ kind: 'string', value: text })

/** Any text. */
export const string: Type<string> = {
  expected: 'a string',
  schema: { type: 'string' },
  json(node, at) {
    if (node.kind !== 'string') throw wrongType(this.expected, node, at)
    return node.value
  },
  text: (text) => text,
}

/** `true` or `false`, in lower case in query strings. */
export const boolean: Type<boolean> = {
  expected: 'a boolean',
  schema: { type: 'boolean' },
  json(node, at) {
    if (node.kind !== 'boolean') throw wrongType(this.expected, node, at)
    return node.value
  },
  text(text, at) {
    if (text !== 'true' && text !== 'false') {
      throw badValue(`\`${text}\` is neither \`true\` nor \`false\``, at)
    }
    return text === 'true'
  },
}

/**
 * A non-negative integer token up to `max`. Without `max` 64 bits are accepted; what exceeds
 * JavaScript's exact integers is taken as the largest of those, which no counter reaches.
 */
export function integer(max?: number): Type<number> {
  const read = (digits: string, at: At): number => {
    const value = Number(digits)
    if (max !== undefined && value > max) throw badValue(`\`${digits}\` is larger than ${max}`, at)
    return Math.min(value, Number.MAX_SAFE_INTEGER)
  }
  return {
    expected: 'a positive integer',
    schema: { type: 'integer', minimum: 0, ...(max !== undefined && { maximum: max }) },
    json(node, at) {
      if (node.kind !== 'number' || !isUnsigned(node.text)) throw wrongType(this.expected, node, at)
      return read(node.text, at)
    },
    text(text, at) {
      const digits = text.startsWith('+') ? text.slice(1) : text
      if (!isUnsigned(digits)) throw badValue(`could not read \`${text}\` as a positive integer`, at)
      return read(digits, at)
    },
  }
}

/** A number, integers included, that `accepts` lets through. `range` words the condition. */
export function number(
  accepts: (value: number) => boolean = () => true,
  range = 'a number',
  bounds: Schema = {},
): Type<number> {
  const check = (value: number, shown: string, at: At): number => {
    if (!accepts(value)) throw badValue(`\`${shown}\` is not ${range}`, at)
    return value
  }
  return {
    expected: 'a number',
    schema: { type: 'number', ...bounds },
    json(node, at) {
      if (node.kind !== 'number') throw wrongType(this.expected, node, at)
      return check(Number(node.text), node.text, at)
    },
    text(text, at) {
      if (!isDecimal(text)) {
        throw badValue(`could not read \`${text}\` as a number`, at)
      }
      return check(Number(text), text, at)
    },
  }
}

/** A score or ratio: 0 to 1. */
export const unitInterval = number((value) => value >= 0 && value <= 1, 'between 0 and 1', {
  minimum: 0,
  maximum: 1,
})

/** One of a closed set of names. With `ignoreCase`, `TRUE` reads as `true`. */
export function oneOf<const T extends string>(names: readonly T[], ignoreCase = false): Type<T> {
  const read = (text: string, at: At): T => {
    const sought = ignoreCase ? text.toLowerCase() : text
    const name = names.find((one) => (ignoreCase ? one.toLowerCase() : one) === sought)
    if (name === undefined) throw unknownName('value', text, names, at)
    return name
  }
  return {
    expected: `a string among ${names.map((name) => `\`${name}\``).join(', ')}`,
    schema: { type: 'string', enum: names },
    json: (node, at) => read(string.json(node, at), at),
    text: read,
  }
}

/** How many members a list or an object may have. */
export interface MembersMax {
  readonly max: number
  /** What is counted, in the plural, for the message. */
  readonly what: string
  /** Default: the code of the list's own mistakes. */
  readonly code?: ErrorCode
}

/** Refuses a list or an object before its members are looked at. */
function requireFew(count: number, limit: MembersMax | undefined, at: At): void {
  if (limit === undefined || count <= limit.max) return
  const reason = `at most ${limit.max} ${limit.what} are accepted, ${count} were given`
  throw badValue(reason, { path: at.path, code: limit.code ?? at.code })
}

/**
 * A list: a JSON array, or comma-separated text; empty text is an empty list.
 * @param limit of a JSON array; the length of text is bounded already
 */
export function list<T>(item: Type<T>, limit?: MembersMax): Type<readonly T[]> {
  return {
    expected: 'an array',
    schema: { type: 'array', items: item.schema, ...(limit !== undefined && { maxItems: limit.max }) },
    json(node, at) {
      if (node.kind !== 'array') throw wrongType(this.expected, node, at)
      requireFew(node.items.length, limit, at)
      const { path, code } = at
      return node.items.map((one, i) => item.json(one, { path: `${path}[${i}]`, code }))
    },
    text(text, at) {
      if (text === '') return []
      const parts = text.split(',')
      return parts.map((one, i) =>
        item.text(one, parts.length > 1 ? { ...at, path: `${at.path}[${i}]` } : at),
      )
    },
  }
}

/**
 * A list in which `*` lifts the restriction: null then. Other elements are still checked.
 * Empty elements are skipped.
 */
export function starred<T>(item: Type<T>): Type<readonly T[] | null> {
  return {
    expected: 'an array',
    schema: { type: 'array', items: item.schema },
    json(node, at) {
      return list(item).json(node, at)
    },
    text(text, at) {
      const parts = text.split(',').map((part, i) => ({ part, i }))
      const many = parts.length > 1
      const values = parts
        .filter(({ part }) => part !== '' && part !== '*')
        .map(({ part, i }) => item.text(part, many ? { ...at, path: `${at.path}[${i}]` } : at))
      return parts.some(({ part }) => part === '*') ? null : values
    },
  }
}

/** An object used as a map; keys as sent. */
export function mapOf<T>(item: Type<T>, limit?: MembersMax): Type<ReadonlyMap<string, T>> {
  return {
    expected: 'an object',
    schema: {
      type: 'object',
      additionalProperties: item.schema,
      ...(limit !== undefined && { maxProperties: limit.max }),
    },
    json(node, at) {
      if (node.kind !== 'object') throw wrongType(this.expected, node, at)
      requireFew(node.entries.length, limit, at)
      const { path, code } = at
      return new Map(
        node.entries.map(([key, value]) => [key, item.json(value, { path: `${path}.${key}`, code })]),
      )
    },
    text(text, at) {
      return this.json(textNode(text), at)
    },
  }
}

/** The value, or null where `null` is sent. */
export function nullable<T>(type: Type<T>): Type<T | null> {
  return {
    expected: `${type.expected} or null`,
    schema: orNull(type.schema),
    json: (node, at) => (node.kind === 'null' ? null : type.json(node, at)),
    text: (text, at) => type.text(text, at),
  }
}

/** Whatever JSON is sent, as a plain value. */
export const anything: Type<unknown> = {
  expected: 'any JSON',
  schema: {},
  json: (node) => toValue(node),
  text: (text) => text,
}

/** An absolute URL that can be called. */
export const httpUrl: Type<string> = refined(string, (text, at) => {
  if (!URL.canParse(text)) throw badValue(`\`${shortened(text)}\` is not an absolute URL`, at)
  if (!isHttpUrl(text))
    throw badValue(`\`${shortened(text)}\` cannot be called: the scheme must be http or https`, at)
  return text
})

/** `type` under a name, which documents that describe the API refer to. */
export function named<T>(name: string, type: Type<T>): Type<T> {
  return {
    expected: type.expected,
    schema: namedSchema(name, type.schema),
    json: (node, at) => type.json(node, at),
    text: (text, at) => type.text(text, at),
  }
}

/** What is read depends on the JSON kind of the value: `byKind({ string, object: rule })`. */
export function byKind<T>(types: Readonly<Partial<Record<JsonNode['kind'], Type<T>>>>): Type<T> {
  const known = Object.values(types)
  return {
    expected: known.map(({ expected }) => expected).join(' or '),
    schema: { anyOf: known.map(({ schema }) => schema) },
    json(node, at) {
      const type = types[node.kind]
      if (type === undefined) throw wrongType(this.expected, node, at)
      return type.json(node, at)
    },
    text(text, at) {
      return this.json(textNode(text), at)
    },
  }
}

/** `type`, whose mistakes carry `code` wherever it stands. */
export function coded<T>(type: Type<T>, code: ErrorCode): Type<T> {
  return {
    expected: type.expected,
    schema: type.schema,
    json: (node, at) => type.json(node, { ...at, code }),
    text: (text, at) => type.text(text, { ...at, code }),
  }
}

/**
 * `type` followed by `convert`, which throws `badValue` for what it refuses.
 * @param narrowed keywords that say as much of `convert` as a schema can
 */
export function refined<T, U>(
  type: Type<T>,
  convert: (value: T, at: At) => U,
  narrowed: Schema = {},
): Type<U> {
  return {
    expected: type.expected,
    schema: { ...type.schema, ...narrowed },
    json: (node, at) => convert(type.json(node, at), at),
    text: (text, at) => convert(type.text(text, at), at),
  }
}

/** Text that may hold JSON: JSON is tried first, then the text itself is the value. */
export function jsonOrText<T>(type: Type<T>): Type<T> {
  return {
    expected: type.expected,
    schema: type.schema,
    json: (node, at) => type.json(node, at),
    text(text, at) {
      let node: JsonNode
      try {
        node = readJsonText(text)
      } catch {
        node = textNode(text)
      }
      return type.json(node, at)
    },
  }
}
