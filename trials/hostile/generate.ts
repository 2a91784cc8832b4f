/** Generates random requests from the server's `/openapi.json`. */
import fc from 'fast-check'
import type { Delivery, Encoding, HostileRequest, Piece, Text } from './request.js'
import {
  indexUids,
  type JsonSchema,
  jsonPieces,
  oddText,
  oddValues,
  queryText,
  type Schemas,
  Values,
} from './values.js'

export interface Operation {
  readonly method: string
  /** Path with `{name}` for parameters. */
  readonly path: string
  /** Actions that a key needs; empty for public routes. */
  readonly actions: readonly string[]
  readonly query: readonly { readonly name: string; readonly schema: JsonSchema }[]
  /** Content types of the body with their schemas. */
  readonly bodies: readonly (readonly [string, JsonSchema])[]
}

interface Described {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: JsonSchema }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> }
  readonly security?: readonly { readonly Bearer: readonly string[] }[]
}

export interface Api {
  readonly operations: readonly Operation[]
  readonly schemas: Schemas
}

/** Parses an OpenAPI document. */
export function apiOf(text: string): Api {
  const { paths, components } = JSON.parse(text) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
    readonly components: { readonly schemas: Schemas }
  }
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, security }]): Operation => {
      const content = Object.entries(requestBody?.content ?? {})
      return {
        method: method.toUpperCase(),
        path,
        actions: security?.[0]?.Bearer ?? [],
        query: parameters.filter((one) => one.in === 'query'),
        bodies: content.map(([type, { schema }]) => [type, schema] as const),
      }
    }),
  )
  return { operations, schemas: components.schemas }
}

/** A request and the operation it reaches. If it reaches none, the operation it was generated from. */
export interface Generated {
  readonly operation: Operation
  readonly request: HostileRequest
  /** Index in the path, or null. */
  readonly index: string | null
}

/** Generates requests. The n-th request of a seed is the same in every trial of the same API. */
export class Generator {
  readonly #arbitrary: fc.Arbitrary<Generated>

  /** @param clients names of clients; the first has all rights and sends most requests */
  constructor(
    { operations, schemas }: Api,
    clients: readonly string[],
    private readonly seed: number,
  ) {
    const values = new Values(schemas)
    const each = operations.map((operation) => ({
      weight: weightOf(operation),
      arbitrary: requestsOf(operation, values, clients).map((made) => {
        const reached = operations.find(
          (one) => one.method === made.request.method && one.path === operation.path,
        )
        return { ...made, operation: reached ?? operation }
      }),
    }))
    this.#arbitrary = fc.oneof(...each)
  }

  request(number: number): Generated {
    const [made] = fc.sample(this.#arbitrary, { numRuns: 1, seed: this.seed * 1_000_003 + number })
    return made as Generated
  }
}

/** Weight of an operation. Highest for expensive routes with many allowed clients. */
function weightOf({ path, method }: Operation): number {
  if (/search|similar|documents/.test(path)) return 40
  if (
    path.endsWith('/settings') ||
    path === '/swap-indexes' ||
    path === '/export' ||
    path.endsWith('-template')
  )
    return 20
  // Each dump or snapshot creates a task that later requests wait for.
  return method === 'POST' && /dumps|snapshots/.test(path) ? 1 : 5
}

const csv: fc.Arbitrary<readonly Piece[]> = fc.constantFrom<readonly Piece[]>(
  ['id,title\n1,a\n2,b\n'],
  ['id:number,n:number\n', { repeat: '1', times: 50_000 }, ',1\n'],
  ['id,title\n1,"a\n'],
  ['id,', { repeat: 'a,', times: 5_000 }, 'z\n1\n'],
  ['id\n', { repeat: '7\n', times: 5_000 }],
  ['\ufeffid,ti"tle\n1,x\n'],
)

const lines: fc.Arbitrary<readonly Piece[]> = fc.constantFrom<readonly Piece[]>(
  ['{"id":1,"title":"a"}\n{"id":2}\n'],
  ['{"id":1}\n\n\n{"id":'],
  [{ repeat: '{"id":1}\n', times: 3_000 }],
  ['{"id":1,"a":', { repeat: '[', times: 50_000 }, '\n'],
)

function requestsOf(
  operation: Operation,
  values: Values,
  clients: readonly string[],
): fc.Arbitrary<Generated> {
  return fc
    .record({
      path: pathOf(operation),
      query: queryOf(operation, values),
      body: bodyOf(operation, values),
      as: fc.oneof(
        { weight: 5, arbitrary: fc.constant(clients[0] ?? '') },
        { weight: 4, arbitrary: fc.constantFrom(...clients) },
      ),
      method: fc.oneof(
        { weight: 30, arbitrary: fc.constant(operation.method) },
        {
          weight: 1,
          arbitrary: fc.constantFrom('PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'DELETE', 'QUERY'),
        },
      ),
      headers: headers,
      delivery: fc.oneof(
        { weight: 24, arbitrary: fc.constant<Delivery>('whole') },
        { weight: 4, arbitrary: fc.constantFrom<Delivery>('chunked', 'truncated', 'abandoned', 'pipelined') },
      ),
      encoding: fc.option(fc.constantFrom<Encoding>('gzip', 'br', 'deflate'), { freq: 6 }),
      copies: fc.oneof(
        { weight: 15, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.integer({ min: 2, max: 8 }) },
      ),
    })
    .map(({ path, query, body, as, method, headers, delivery, encoding, copies }): Generated => {
      const isStream = path.text.endsWith('/stream')
      const sent = body === null ? {} : { body: body.text, ...(encoding === null ? {} : { encoding }) }
      const typed = body === null || body.type === 'application/json' ? {} : { 'content-type': body.type }
      return {
        operation,
        index: path.index,
        request: {
          method,
          path: `${path.text}${query}`,
          as,
          headers: { ...typed, ...headers },
          ...sent,
          delivery: isStream ? 'listening' : body === null && needsBody(delivery) ? 'whole' : delivery,
          copies: delivery === 'whole' ? copies : 1,
        },
      }
    })
}

const needsBody = (delivery: Delivery): boolean => ['chunked', 'truncated'].includes(delivery)

const headers: fc.Arbitrary<Readonly<Record<string, string>>> = fc.oneof(
  { weight: 12, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Readonly<Record<string, string>>>(
      ...[
        { 'content-type': 'text/plain' },
        { 'content-type': '' },
        { 'content-type': 'application/json; charset=utf-16' },
      ],
      ...[
        { 'content-type': ';' },
        { 'content-type': 'application/vnd.api+json' },
        { 'content-encoding': 'zstd' },
      ],
      ...[
        { 'content-encoding': 'gzip' },
        { 'content-encoding': 'gzip, gzip' },
        { 'content-encoding': 'identity' },
      ],
      ...[{ 'accept-encoding': 'gzip' }, { 'accept-encoding': 'br;q=x, *;q=0' }, { accept: 'text/html' }],
      ...[
        { origin: 'http://elsewhere' },
        { 'x-forwarded-for': '::1' },
        { expect: '100-continue' },
        { te: 'trailers' },
      ],
      ...[{ 'meili-include-metadata': 'true' }, { 'meili-include-metadata': '\u0001' }, { cookie: 'a=b' }],
      ...[
        { 'content-length': '0' },
        { 'transfer-encoding': 'chunked' },
        { 'transfer-encoding': 'x' },
        { range: 'bytes=0-1' },
      ],
      ...[
        { 'x-a': 'a'.repeat(20_000) },
        { 'user-agent': 'a'.repeat(5_000) },
        { host: '' },
        { 'x-meilisearch-client': '\u00ff' },
      ],
      ...[{ 'if-none-match': '*' }, { upgrade: 'h2c', connection: 'upgrade' }],
    ),
  },
)

function pathOf({ path }: Operation): fc.Arbitrary<{ readonly text: string; readonly index: string | null }> {
  const parts = path.split(/(\{\w+\})/).map((part) => {
    if (part === '{indexUid}') return indexUids.map((uid) => ({ text: encoded(uid), index: uid }))
    if (!part.startsWith('{')) return fc.constant({ text: part, index: null })
    return segment.map((text) => ({ text, index: null }))
  })
  return fc.tuple(...parts).map((all) => ({
    text: all.map(({ text }) => text).join(''),
    index: all.find(({ index }) => index !== null)?.index ?? null,
  }))
}

const segment = fc.oneof(
  fc.constantFrom(
    '0',
    '1',
    '7',
    'a',
    'fetch',
    '..',
    '%00',
    '%FF',
    '%',
    '%2e%2e',
    '-1',
    '4294967296',
    'x'.repeat(5_000),
  ),
  oddText.map(encoded),
)

/** Percent-encodes a text. Lone surrogates, which UTF-8 cannot encode, become the replacement character. */
const percentEncoded = (text: string): string => encodeURIComponent(Buffer.from(text).toString())

/** Encodes a path segment as clients do. The corpus attacks the request head. */
function encoded(text: string): string {
  return percentEncoded(text) || '_'
}

function queryOf({ query }: Operation, values: Values): fc.Arbitrary<string> {
  const none = fc.constant('')
  if (query.length === 0) return none
  const pair = fc
    .constantFrom(...query, { name: 'ghost', schema: {} })
    .chain(({ name, schema }) =>
      fc
        .oneof(
          { weight: 6, arbitrary: values.of(schema, false, 0, name) },
          { weight: 1, arbitrary: oddValues },
          { weight: 1, arbitrary: longQueryText },
        )
        .map((value) => `${name}=${percentEncoded(queryText(value))}`),
    )
  return fc.oneof(
    { weight: 2, arbitrary: none },
    {
      weight: 3,
      arbitrary: fc.array(pair, { minLength: 1, maxLength: 4 }).map((pairs) => {
        const text = pairs.join('&')
        return `?${text.length > QUERY_CHARS_MAX ? text.slice(0, QUERY_CHARS_MAX).replace(/%.?$/, '') : text}`
      }),
    },
  )
}

/** Maximum query length that leaves room for the rest of a 16 KiB request head. */
const QUERY_CHARS_MAX = 15_000

const longQueryText = fc
  .constantFrom(',', ' ', '1', 'a', '(', '"', ':', '/', '.', '%', '-')
  .map((unit) => unit.repeat(4_800))

interface Body {
  readonly type: string
  readonly text: Text
}

const garbage = fc.constantFrom<Text>(
  ...[
    '',
    ' ',
    '{',
    '[',
    '[1,]',
    '{"a":1,"a":2}',
    '"\\ud800"',
    'null',
    '\ufeff{}',
    '{}{}',
    '{"q":1}\n{"q":2}',
    'undefined',
  ],
  ...([
    [{ hex: 'fffe7b007d00', times: 1 }],
    [{ hex: '00', times: 1_000 }],
    [{ hex: '1f8b0800', times: 5 }],
  ] as Text[]),
)

function bodyOf({ bodies, method }: Operation, values: Values): fc.Arbitrary<Body | null> {
  const json = (text: fc.Arbitrary<Text>): fc.Arbitrary<Body> =>
    text.map((one) => ({ type: 'application/json', text: one }))
  const rubbish = json(fc.oneof(garbage, oddValues.map(jsonPieces)))
  if (bodies.length === 0) {
    return fc.oneof(
      { weight: 90, arbitrary: fc.constant(null) },
      { weight: method === 'GET' ? 1 : 10, arbitrary: rubbish },
    )
  }
  const right = bodies
    .map(([type, schema]) => ({ type, schema }))
    .map(({ type, schema }) => {
      if (type === 'text/csv') return csv.map((text): Body => ({ type, text }))
      if (type.includes('ndjson')) return lines.map((text): Body => ({ type, text }))
      return json(
        fc.oneof(
          { weight: 3, arbitrary: values.of(schema, false).map(jsonPieces) },
          { weight: 4, arbitrary: values.of(schema, true).map(jsonPieces) },
        ),
      )
    })
  return fc.oneof(
    { weight: 12, arbitrary: fc.oneof({ weight: 4, arbitrary: right[0] ?? rubbish }, ...right.slice(1)) },
    { weight: 1, arbitrary: rubbish },
    { weight: 1, arbitrary: fc.constant(null) },
  )
}
