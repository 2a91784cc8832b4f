import type { FastifyInstance } from 'fastify'
import { type Fields, fieldSchema, type Schema, type SchemaValue } from '../../operations/index.js'
import { errorAnswer } from '../answers/index.js'
import type { Operation } from './operation.js'

type Described = Operation<Fields, unknown>

/** The API as an OpenAPI 3.1 document. */
export interface ApiDocument {
  /** The document as UTF-8 JSON. Made at the first call, after all routes were added. */
  bytes(): Buffer
}

/** Collects the operations of routes as they are added to `app`. */
export function collectOperations(app: FastifyInstance, version: string): ApiDocument {
  const operations: Described[] = []
  app.addHook('onRoute', ({ config }) => {
    if (config?.operation !== undefined) operations.push(config.operation)
  })
  let made: Buffer | null = null
  return {
    bytes() {
      made ??= Buffer.from(JSON.stringify(openApi(operations, version)))
      return made
    },
  }
}

function openApi(operations: readonly Described[], version: string): Schema {
  const components = new Components()
  const paths: Record<string, Record<string, Schema>> = {}
  for (const operation of operations) {
    const path = operation.url.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(operation, components) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'siftd', version },
    paths,
    components: {
      schemas: components.schemas(),
      securitySchemes: { Bearer: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function operationObject(operation: Described, components: Components): Schema {
  const { summary, actions, body, uploads } = operation
  const bodies = uploads ?? (body && { 'application/json': body.schema })
  const parameters = [...pathParameters(operation.url), ...queryParameters(operation, components)]
  return {
    operationId: operationId(operation),
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(bodies && {
      requestBody: { required: true, content: contentOf(bodies, components) },
    }),
    responses: responses(operation, components),
    ...(actions.length > 0 && { security: [{ Bearer: [...actions] }] }),
  }
}

/** `POST /indexes/:indexUid/documents/fetch` → `postIndexesByIndexUidDocumentsFetch`. */
function operationId({ method, url }: Described): string {
  const words = url.replaceAll('/:', '/by-').split(/[^A-Za-z0-9]+/)
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

function pathParameters(url: string): Schema[] {
  return [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters({ query = {} }: Described, components: Components): Schema[] {
  return Object.entries(query).map(([name, field]) => {
    const schema = components.resolved(withoutNull(fieldSchema(field)))
    return {
      name,
      in: 'query',
      required: field.absent.kind === 'error',
      schema,
      // A list is sent as `a,b,c`.
      ...(schema.type === 'array' && { style: 'form', explode: false }),
    }
  })
}

/** The schema without null, which a query string cannot express. */
function withoutNull(schema: Schema): Schema {
  const { type, anyOf } = schema
  if (Array.isArray(type)) {
    const types = type.filter((one) => one !== 'null')
    return { ...schema, type: types.length === 1 ? (types[0] as string) : types }
  }
  if (!Array.isArray(anyOf)) return schema
  const known = (anyOf as Schema[]).filter((one) => one.type !== 'null')
  const { anyOf: _, ...rest } = schema
  return known.length === 1 ? { ...rest, ...known[0] } : { ...rest, anyOf: known }
}

function responses({ answers, answersAs, actions }: Described, components: Components): Schema {
  const found = Object.entries(answers).map(([status, schema]): [string, Schema] => {
    const type = answersAs ?? 'application/json'
    const description = status === '202' ? 'the task is enqueued' : 'done'
    if (schema === null) return [status, { description }]
    return [status, { description, content: contentOf({ [type]: schema }, components) }]
  })
  const content = contentOf({ 'application/json': errorAnswer }, components)
  const refusals: [string, Schema][] = [
    ['4XX', { description: 'a mistake of the caller', content }],
    ...(actions.length > 0
      ? [['401', { description: 'the key is missing', content }] as [string, Schema]]
      : []),
  ]
  return Object.fromEntries([...found, ...refusals])
}

function contentOf(bodies: Readonly<Record<string, Schema>>, components: Components): Schema {
  return Object.fromEntries(
    Object.entries(bodies).map(([type, schema]) => [type, { schema: components.resolved(schema) }]),
  )
}

/** Collects named schemas, so that each is defined once in the document. */
class Components {
  readonly #schemas = new Map<string, Schema>()

  /** Replaces named schemas by references. @throws TypeError if two shapes have one name */
  resolved(schema: Schema): Schema {
    const { title, default: value, ...rest } = schema
    const inner = Object.fromEntries(
      Object.entries(rest).map(([keyword, part]) => [keyword, this.#part(keyword, part)]),
    )
    const defaults = value === undefined ? {} : { default: value }
    if (typeof title !== 'string') return { ...inner, ...defaults }
    const known = this.#schemas.get(title)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(inner)) {
      throw new TypeError(`two shapes are called ${title}`)
    }
    this.#schemas.set(title, inner)
    return { $ref: `#/components/schemas/${title}`, ...defaults }
  }

  schemas(): Schema {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #part(keyword: string, part: SchemaValue): SchemaValue {
    if (keyword === 'properties') return this.#each(part as Schema)
    if (['items', 'additionalProperties', 'not'].includes(keyword) && isObject(part)) {
      return this.resolved(part)
    }
    if (keyword === 'anyOf') return (part as readonly Schema[]).map((one) => this.resolved(one))
    return part
  }

  #each(properties: Schema): Schema {
    return Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, this.resolved(schema as Schema)]),
    )
  }
}

const isObject = (value: SchemaValue): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
