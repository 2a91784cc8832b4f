import { ApiError, type ErrorCode } from '../errors/index.js'
import { readJson } from './json.js'
import type { JsonNode } from './json-node.js'
import { orNull, type Schema, type SchemaValue } from './schema.js'
import { type At, type Type, unknownName, wrongType } from './types.js'

/** A field of a request: its type, the code of its errors, and its value if it is absent. */
export interface Field<T> {
  readonly type: Type<T>
  readonly code: ErrorCode
  readonly absent:
    | { readonly kind: 'value'; readonly value: T }
    /** `code` null: the code of the object that contains the field. */
    | { readonly kind: 'error'; readonly code: ErrorCode | null }
  /** The field exists but cannot be changed: sending it is an error with `code`. */
  readonly immutable?: true
}

export type Fields = Readonly<Record<string, Field<unknown>>>
export type Values<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never
}

/** An optional field. Its value is null if the field is absent or null. */
export function optional<T>(type: Type<T>, code: ErrorCode): Field<T | null> {
  return {
    type: {
      expected: type.expected,
      schema: orNull(type.schema),
      json: (node, at) => (node.kind === 'null' ? null : type.json(node, at)),
      text: (text, at) => type.text(text, at),
    },
    code,
    absent: { kind: 'value', value: null },
  }
}

/** A field with a default. null is refused. */
export function defaulted<T>(type: Type<T>, value: T, code: ErrorCode): Field<T> {
  return { type, code, absent: { kind: 'value', value } }
}

/** A field of a patch. Its value is undefined if the field is absent, and null if it is null. */
export function setting<T>(type: Type<T>, code: ErrorCode): Field<T | null | undefined> {
  return { ...optional<T>(type, code), absent: { kind: 'value', value: undefined } }
}

/** A required field. @param missing the code if it is absent; null: the code of the enclosing object */
export function required<T>(type: Type<T>, code: ErrorCode, missing: ErrorCode | null = null): Field<T> {
  return { type, code, absent: { kind: 'error', code: missing } }
}

/** A field that exists but cannot be changed. Sending it is an error. */
export function immutable(code: ErrorCode): Field<undefined> {
  const refuse = (): never => {
    throw new ApiError(code, 'the field cannot be changed')
  }
  return {
    type: { expected: 'nothing', schema: { not: {} }, json: refuse, text: refuse },
    code,
    absent: { kind: 'value', value: undefined },
    immutable: true,
  }
}

interface ObjectOptions {
  /** True if unknown keys are ignored. Default: they are errors. */
  readonly ignoreUnknown?: boolean
  /** True if the values record the sent fields, for `wasSent`. */
  readonly notesSent?: boolean
}

const SENT = Symbol('the fields that were sent')

/** Returns values with a record of the sent fields: only `names`. */
export function withSent<T extends object>(values: T, names: readonly string[]): T {
  return { ...values, [SENT]: new Set(names) }
}

/**
 * Returns true if the client sent the field, even with its default value. For values without this record (`notesSent`),
 * returns true if they have the field.
 */
export function wasSent(values: object, name: string): boolean {
  const sent = (values as { readonly [SENT]?: Pick<ReadonlySet<string>, 'has'> })[SENT]
  return sent === undefined ? Object.hasOwn(values, name) : sent.has(name)
}

/** The type of an object with the given fields. Errors about unknown keys have the code of the enclosing field. */
export function shape<F extends Fields>(fields: F, options: ObjectOptions = {}): Type<Values<F>> {
  return {
    expected: 'an object',
    schema: objectSchema(fields, options),
    json(node, at) {
      if (node.kind !== 'object') throw wrongType('an object', node, at)
      const values = new Map<string, unknown>()
      // Read keys in payload order, so that the first mistake of the payload is reported.
      for (const [key, value] of node.entries) {
        const field = fieldOf(fields, key)
        if (field === null) {
          if (options.ignoreUnknown) continue
          throw unknownName('field', key, acceptedNames(fields), at)
        }
        if (field.immutable) throw immutableField(key, field.code, fields)
        values.set(key, field.type.json(value, { path: `${at.path}.${key}`, code: field.code }))
      }
      return complete(fields, values, { at, what: 'field', ...options })
    },
    text(text, at) {
      throw wrongType('an object', { kind: 'string', value: text }, at)
    },
  }
}

/** Returns `values` without undefined members: a partial object as it was sent. */
export function sentOnly<T extends object>(values: T): Partial<T> {
  const sent = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(sent) as Partial<T>
}

function objectSchema(fields: Fields, { ignoreUnknown }: ObjectOptions): Schema {
  const names = acceptedNames(fields)
  const needed = names.filter((name) => fields[name]?.absent.kind === 'error')
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, fieldSchema(fields[name]!)])),
    ...(needed.length > 0 && { required: needed }),
    ...(!ignoreUnknown && { additionalProperties: false }),
  }
}

/** Returns the schema of a field, with its default. */
export function fieldSchema({ type, absent }: Field<unknown>): Schema {
  const known = absent.kind === 'value' && absent.value !== undefined && absent.value !== null
  return known ? { ...type.schema, default: absent.value as SchemaValue } : type.schema
}

/** Reads a body as `type`. Errors about the root have the code `bad_request`. */
export function readBody<T>(body: Uint8Array, type: Type<T>): T {
  return readNode(readJson(body), type)
}

/** Like `readBody`, for a parsed body. */
export function readNode<T>(node: JsonNode, type: Type<T>): T {
  return type.json(node, { path: '', code: 'bad_request' })
}

/**
 * Reads the parameters `fields` of a query string. The last value of a repeated parameter counts.
 * @param query the text after the `?`, possibly empty
 */
export function readQuery<F extends Fields>(query: string, fields: F, options: ObjectOptions): Values<F> {
  const values = new Map<string, unknown>()
  if (query !== '') {
    for (const [name, text] of new Map(new URLSearchParams(query))) {
      const field = fieldOf(fields, name)
      if (field === null) {
        if (options.ignoreUnknown) continue
        throw unknownName('parameter', name, acceptedNames(fields), { path: '', code: 'bad_request' })
      }
      values.set(name, field.type.text(text, { path: name, code: field.code }))
    }
  }
  return complete(fields, values, { at: { path: '', code: 'bad_request' }, what: 'parameter', ...options })
}

// A plain loop that fills a plain object, because it runs for every search. Field names are fixed in the code, so
// `__proto__` cannot occur.
function complete<F extends Fields>(
  fields: F,
  values: Map<string, unknown>,
  { at, what, notesSent }: ObjectOptions & { readonly at: At; readonly what: string },
): Values<F> {
  const result: Record<string | symbol, unknown> = {}
  for (const name in fields) {
    const { absent } = fields[name]!
    if (values.has(name)) result[name] = values.get(name)
    else if (absent.kind === 'value') result[name] = absent.value
    else {
      const inside = at.path === '' ? '' : ` inside \`${at.path}\``
      throw new ApiError(absent.code ?? at.code, `missing ${what} \`${name}\`${inside}`)
    }
  }
  if (notesSent) result[SENT] = values
  return result as Values<F>
}

// The client chooses `name`. A name such as `constructor` must not be found in the prototype of `fields`.
function fieldOf(fields: Fields, name: string): Field<unknown> | null {
  return Object.hasOwn(fields, name) ? (fields[name] ?? null) : null
}

function acceptedNames(fields: Fields): string[] {
  return Object.keys(fields).filter((name) => !fields[name]?.immutable)
}

function immutableField(name: string, code: ErrorCode, fields: Fields): ApiError {
  const list = acceptedNames(fields).map((one) => `\`${one}\``)
  return new ApiError(code, `the field \`${name}\` cannot be changed; fields that can: ${list.join(', ')}`)
}
