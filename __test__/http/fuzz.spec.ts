import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import { codes } from '../../ts/errors/index.js'
import { startServer, type TestAnswer, type TestServer } from '../support/server.js'

/** How many requests are thrown; more by hand: `FUZZ_RUNS=5000`. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 250)

interface Operation {
  readonly method: string
  readonly path: string
  readonly query: readonly string[]
  readonly fields: readonly string[]
}

interface Shot {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Names that mean something to JavaScript or to the API where they should not. */
const oddNames = ['__proto__', 'constructor', 'toString', '', 'a.b', '_geo', '_vectors', '*', 'id']
const text = fc.oneof(
  fc.constantFrom(
    '',
    '*',
    'a',
    'b',
    '-1',
    '1.5',
    '1e400',
    'true',
    'null',
    '[]',
    '{}',
    'a = 1',
    'x:asc',
    '\u0000',
    'é',
  ),
  fc.string({ maxLength: 12, unit: 'grapheme' }),
)
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false, 0, 1, -1, 1.5, 2 ** 53, 1e300),
    text,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...oddNames), text), tie('value'), { maxKeys: 3 }),
  ),
})).value

function shots(operations: readonly Operation[]): fc.Arbitrary<Shot> {
  return fc.constantFrom(...operations).chain(({ method, path, query, fields }) => {
    const bodyOf = fc.dictionary(
      fields.length > 0 ? fc.oneof(fc.constantFrom(...fields), fc.constantFrom(...oddNames)) : text,
      json,
      { maxKeys: 4 },
    )
    return fc.record({
      method: fc.oneof(
        { weight: 9, arbitrary: fc.constant(method) },
        { weight: 1, arbitrary: fc.constantFrom('PUT', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE') },
      ),
      path: fc
        .tuple(
          fc.array(
            fc.oneof(
              fc.constantFrom('a', 'b', '1', 'fetch', '..', '%00', '%FF'),
              text.map(encodeURIComponent),
            ),
            {
              minLength: 3,
              maxLength: 3,
            },
          ),
          fc.array(fc.tuple(query.length > 0 ? fc.constantFrom(...query, 'ghost') : text, text), {
            maxLength: 3,
          }),
        )
        .map(([parts, pairs]) => {
          let next = 0
          const filled = path.replace(/\{\w+\}/g, () => parts[next++] || 'a')
          return pairs.length === 0 ? filled : `${filled}?${new URLSearchParams(pairs as [string, string][])}`
        }),
      headers: fc.record(
        {
          'content-type': fc.constantFrom(
            'application/json',
            'application/json; charset=utf-16',
            'application/x-ndjson',
            'text/csv',
            'text/plain',
            'application/vnd.api+json',
            ';',
          ),
          'content-encoding': fc.constantFrom('gzip', 'br', 'deflate', 'identity', 'zstd', 'gzip, gzip'),
          authorization: fc.constantFrom('Bearer x', 'Bearer', 'Basic x', 'bearer x', 'Bearer a.b.c'),
          'meili-include-metadata': text.map(encodeURIComponent),
        },
        { requiredKeys: ['content-type'] },
      ),
      body: fc.oneof(
        { weight: 6, arbitrary: bodyOf.map((value) => JSON.stringify(value)) },
        { weight: 3, arbitrary: json.map((value) => JSON.stringify(value)) },
        {
          weight: 1,
          arbitrary: fc.constantFrom('', '{', '[1,]', '{"a":1,"a":2}', '"\\ud800"', '1.0', 'id\n"a', '[[[['),
        },
        { weight: 1, arbitrary: fc.constant(undefined) },
      ),
    })
  })
}

async function operationsOf(server: TestServer): Promise<readonly Operation[]> {
  const { paths, components } = (await server.get('/openapi.json')).body as unknown as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
    readonly components: { readonly schemas: Readonly<Record<string, object>> }
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      // Streams do not end by themselves.
      .filter(() => !path.endsWith('/stream'))
      .map(([method, { parameters = [], requestBody }]) => ({
        method: method.toUpperCase(),
        path,
        query: parameters.filter((one) => one.in === 'query').map(({ name }) => name),
        fields: [...namesIn(requestBody ?? {}, components.schemas)],
      })),
  )
}

interface Described {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: object
}

/** All property names of a schema, wherever they stand. */
function namesIn(
  schema: object,
  schemas: Readonly<Record<string, object>>,
  seen = new Set<string>(),
): Set<string> {
  for (const [keyword, value] of Object.entries(schema) as [string, unknown][]) {
    if (keyword === '$ref') namesIn(schemas[String(value).split('/').at(-1) ?? ''] ?? {}, schemas, seen)
    else if (typeof value === 'object' && value !== null) {
      if (keyword === 'properties') for (const name of Object.keys(value)) seen.add(name)
      namesIn(value, schemas, seen)
    }
  }
  return seen
}

/** What a refused request must not change. */
async function stateOf(server: TestServer): Promise<string> {
  const paths = [
    '/indexes',
    '/keys',
    '/tasks?limit=0',
    '/experimental-features',
    '/webhooks',
    '/indexes/a/settings',
  ]
  const answers = await Promise.all(paths.map((path) => server.get(path)))
  return answers.map(({ bytes }) => bytes.toString()).join('\n')
}

function checkAnswer(t: ExecutionContext, shot: Shot, { status, bytes, headers }: TestAnswer): void {
  const what = `${JSON.stringify(shot)} → ${status} ${bytes.toString().slice(0, 300)}`
  if (status < 400 || shot.method === 'HEAD') return
  if ((status === 404 || status === 405) && bytes.length === 0) {
    if (status === 405) t.truthy(headers.allow, what)
    return
  }
  const { code, type } = JSON.parse(bytes.toString()) as { code: keyof typeof codes; type: string }
  t.true(Object.hasOwn(codes, code), what)
  t.is(type, codes[code].type, what)
  t.not(code, 'internal', what)
  // Multi-search alone answers with another status than the table's.
  if (code !== 'index_not_found') t.is(status, codes[code].status, what)
}

async function idle(server: TestServer): Promise<void> {
  while ((await server.get('/tasks?statuses=enqueued,processing&limit=0')).body.total > 0) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

test('whatever is thrown at any route: no answer is ours to apologise for, and a refusal changes nothing', async (t) => {
  const masterKey = 'a-master-key-of-20-b'
  const features = ['metrics', 'containsFilter', 'renderRoute', 'multimodal', 'foreignKeys'] as const
  const server = await startServer(t, { masterKey, features })
  const operations = await operationsOf(server)
  await server.settle(t, server.patch('/indexes/a/settings', { filterableAttributes: ['id', 'a'] }))
  await server.settle(
    t,
    server.post('/indexes/a/documents', [
      { id: 1, a: 'x' },
      { id: 2, a: 'y' },
    ]),
  )
  let state = await stateOf(server)
  await fc.assert(
    fc.asyncProperty(shots(operations), async (shot) => {
      const answer = await server.request(shot.method, shot.path, shot)
      checkAnswer(t, shot, answer)
      if (answer.status < 400) {
        await idle(server)
        state = await stateOf(server)
      } else t.is(await stateOf(server), state, JSON.stringify(shot))
    }),
    { numRuns: RUNS },
  )
  const { results } = (await server.get('/tasks?statuses=failed&limit=1000')).body
  // Snapshots are not part of this version: their tasks fail, and say so.
  const ours = results.filter(({ error, type }) => error.code === 'internal' && type !== 'snapshotCreation')
  t.deepEqual(ours, [])
})
