import { ApiError, type ErrorCode } from '../errors/index.js'
import { readJsonText } from './json.js'
import { found, type JsonNode, shortened, toValue } from './json-node.js'
import { isDecimal, isHttpUrl, isUnsigned } from './literals.js'
import { namedSchema, orNull, type Schema } from './schema.js'
import { choices } from './suggestion.js'

/** The position of a value in the request, and the code of its errors. */
export interface At {
  /** `.a.b[0]` in a body, the parameter name in a query string, and empty at the root. */
  readonly path: string
  readonly code: ErrorCode
}

/** Reads and checks a kind of value in bodies and query strings. */
export interface Type<T> {
  /** The kind of value for error messages: `a positive integer`. */
  readonly expected: string
  /** The accepted values, for the description of the API. */
  readonly schema: Schema
  /** Reads a JSON value. @throws ApiError */
  json(node: JsonNode, at: At): T
  /** Reads a query parameter. @throws ApiError */
  text(text: string, at: At): T
}

/** Largest uid of tasks and batches. */
export const U32_MAX = 4_294_967_295

const where = (at: At): string => (at.path === '' ? '' : ` at \`${at.path}\``)

/** Returns the error for a value of a wrong JSON kind. */
export function wrongType(expected: string, node: JsonNode, at: At): ApiError {
  return new ApiError(at.code, `wrong type${where(at)}: expected ${expected}, found ${found(node)}`)
}

/** Returns the error for a refused value of the right kind. @param reason names the value */
export function badValue(reason: string, at: At): ApiError {
  return new ApiError(at.code, `bad value${where(at)}: ${reason}`)
}

/** Returns the error for an unknown name, with a suggestion. @param what `field`, `parameter` or `value` */
export function unknownName(what: string, name: string, accepted: readonly string[], at: At): ApiError {
  const inside = at.path === '' ? '' : ` inside \`${at.path}\``
  return new ApiError(at.code, `unknown ${what} \`${shortened(name)}\`${inside}: ${choices(name, accepted)}`)
}

const textNode = (text: string): JsonNode => ({ kind: 'string', value: text })

export const string: Type<string> = {
  expected: 'a string',
  schema: { type: 'string' },
  json(node, at) {
    if (node.kind !== 'string') throw wrongType(this.expected, node, at)
    return node.value
  },
  text: (text) => text,
}

/** A boolean. In query strings it is `true` or `false`, in lower case. */
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
 * A non-negative integer up to `max`. Without `max` it can have 64 bits. A value beyond JavaScript's exact integers
 * reads as the largest exact integer, which no counter reaches.
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

/**
 * A number.
 * @param accepts the condition that the number must meet
 * @param range the condition for error messages
 * @param bounds the condition as keywords of a schema
 */
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

/** A score or ratio from 0 to 1. */
export const unitInterval = number((value) => value >= 0 && value <= 1, 'between 0 and 1', {
  minimum: 0,
  maximum: 1,
})

/** A string among `names`. @param ignoreCase true if `TRUE` reads as `true` */
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

/** A limit for the number of members of an array or object. */
export interface MembersMax {
  readonly max: number
  /** The members in the plural, for the error message. */
  readonly what: string
  /** The code of the error. Default: the code of the array or object. */
  readonly code?: ErrorCode
}

/** Checks the number of members before reading any. @throws ApiError */
function requireFew(count: number, limit: MembersMax | undefined, at: At): void {
  if (limit === undefined || count <= limit.max) return
  const reason = `at most ${limit.max} ${limit.what} are accepted, ${count} were given`
  throw badValue(reason, { path: at.path, code: limit.code ?? at.code })
}

/**
 * A list: a JSON array, or comma-separated text. An empty text is an empty list.
 * @param limit limit for a JSON array; the length of a query string is bounded anyway
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
 * A list. In a query string, an element `*` makes the value null. All other elements are checked, except empty ones,
 * which are ignored.
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

/** An object with any keys. The value is a map in payload order. */
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

/** A value or null. */
export function nullable<T>(type: Type<T>): Type<T | null> {
  return {
    expected: `${type.expected} or null`,
    schema: orNull(type.schema),
    json: (node, at) => (node.kind === 'null' ? null : type.json(node, at)),
    text: (text, at) => type.text(text, at),
  }
}

/** Any JSON. The value is plain JavaScript. */
export const anything: Type<unknown> = {
  expected: 'any JSON',
  schema: {},
  json: (node) => toValue(node),
  text: (text) => text,
}

/** An absolute URL with the scheme http or https. */
export const httpUrl: Type<string> = refined(string, (text, at) => {
  if (!URL.canParse(text)) throw badValue(`\`${shortened(text)}\` is not an absolute URL`, at)
  if (!isHttpUrl(text))
    throw badValue(`\`${shortened(text)}\` cannot be called: the scheme must be http or https`, at)
  return text
})

/** Gives a type a name in the OpenAPI document. */
export function named<T>(name: string, type: Type<T>): Type<T> {
  return {
    expected: type.expected,
    schema: namedSchema(name, type.schema),
    json: (node, at) => type.json(node, at),
    text: (text, at) => type.text(text, at),
  }
}

/** A value whose type depends on its JSON kind: `byKind({ string, object: rule })`. */
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

/** Gives all errors about a type the code `code`. */
export function coded<T>(type: Type<T>, code: ErrorCode): Type<T> {
  return {
    expected: type.expected,
    schema: type.schema,
    json: (node, at) => type.json(node, { ...at, code }),
    text: (text, at) => type.text(text, { ...at, code }),
  }
}

/**
 * Applies `convert` to the value of a type. `convert` throws `badValue` for a refused value.
 * @param narrowed the condition of `convert` as keywords of a schema, if possible
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

/** A text that is read as JSON if possible, else as a string. */
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
