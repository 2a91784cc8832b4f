/**
 * Requests that once cost too much or did harm, with their expected results. Each name begins with its kind, so
 * that `--only KIND` runs all cases of a kind.
 *
 * Sizes are below the default limits of a server: a decompressed body may have 100 MB.
 */
import type { ErrorCode } from '../../ts/errors/index.js'
import type { Bounds, Case } from './case.js'
import { featureCases } from './corpus-of-features.js'
import type { HostileRequest, Text } from './request.js'

const MB = 1_000_000

/** Concurrent bodies or answers may hold 256 MB in total, see `ts/http/limits.ts`. */
const manyAtOnce: Partial<Bounds> = { growthBytesMax: 400 * MB }

const post = (path: string, body: Text, more: Partial<HostileRequest> = {}): HostileRequest => ({
  method: 'POST',
  path,
  body,
  ...more,
})
const patch = (path: string, body: Text, more: Partial<HostileRequest> = {}): HostileRequest => ({
  ...post(path, body, more),
  method: 'PATCH',
})
const put = (path: string, body: Text): HostileRequest => ({ ...post(path, body), method: 'PUT' })
const get = (path: Text, more: Partial<HostileRequest> = {}): HostileRequest => ({
  method: 'GET',
  path,
  ...more,
})
const json = (value: unknown): string => JSON.stringify(value)
const many = (repeat: string, times: number, open = '', close = ''): Text => [
  open,
  { repeat, times: Math.floor(times) },
  close,
]
const tooLarge = ['payload_too_large'] as const satisfies readonly ErrorCode[]

const search = '/indexes/many/search'
const upload = '/indexes/spare/documents'
const documents = json([
  { id: 1, title: 'a' },
  { id: 2, title: 'b' },
])
const spare: readonly HostileRequest[] = [post(`${upload}?primaryKey=id`, documents)]

const answeredOrRefused = { statuses: [200, 400, 413] } as const

// Long queries

const longTexts: Readonly<Record<string, string>> = {
  'one word': 'a',
  words: 'ab ',
  'Japanese without spaces': '東京',
  Thai: 'สวัส',
  emoji: '👩‍👩‍👧‍👦',
  'combining marks': 'e\u0301\u0301',
  quotes: '\\"a ',
  'excluded words': '-a ',
  escapes: '\\u0061',
  'NUL characters': '\\u0000',
  separators: '.,;',
}
const queryBodies: Readonly<Record<string, readonly [string, string, string]>> = {
  search: [search, '{"q":"', '"}'],
  'multi-search': ['/multi-search', '{"queries":[{"indexUid":"many","q":"', '"}]}'],
  federation: ['/multi-search', '{"federation":{},"queries":[{"indexUid":"many","q":"', '"}]}'],
  'facet search': ['/indexes/many/facet-search', '{"facetName":"tags","q":"', '"}'],
  facetQuery: ['/indexes/many/facet-search', '{"facetName":"tags","facetQuery":"', '"}'],
  hybrid: [search, '{"vector":[1,0,0],"hybrid":{"embedder":"mine"},"q":"', '"}'],
  filter: [search, '{"filter":"n = ', '"}'],
  'attribute to search on': [search, '{"attributesToSearchOn":["', '"]}'],
  'sort of documents': ['/indexes/many/documents/fetch', '{"sort":["', '"]}'],
}
const queries: readonly Case[] = [
  ...Object.entries(longTexts).map(
    ([kind, unit]): Case => ({
      name: `query: ${kind}, 10 MB`,
      requests: [
        post(search, many(unit, (10 * MB) / Buffer.byteLength(unit), '{"q":"', '"}'), { as: 'tenants' }),
      ],
      wanted: answeredOrRefused,
    }),
  ),
  ...Object.entries(queryBodies).map(
    ([kind, [path, open, close]]): Case => ({
      name: `query: ${kind}, 90 MB in 90 KB of gzip`,
      requests: [post(path, many('ab ', 30 * MB, open, close), { as: 'tenants', encoding: 'gzip' })].map(
        (request) => (path.endsWith('fetch') ? { ...request, as: 'master' } : request),
      ),
      wanted: answeredOrRefused,
    }),
  ),
  {
    name: 'query: 900 KB of words, eight at once, by clients that hang up',
    requests: [
      post(search, many('ab ', 300_000, '{"q":"', '"}'), { as: 'tenants', delivery: 'abandoned', copies: 8 }),
    ],
    wanted: answeredOrRefused,
    afterwards: [{ request: post(search, '{"q":"river"}', { as: 'tenants' }), status: 200, holds: 'river' }],
  },
  {
    name: 'query: as long as a request line may be',
    requests: [get(many('ab+', 5_000, `${search}?q=`), { as: 'tenants' })],
    wanted: { statuses: [200, 400, 431] },
  },
]

// Scripts

const scripts: Readonly<Record<string, string>> = {
  'a replacement that squares 20,000 characters':
    'let s = ""; s.pad(20000, "x"); s.replace("x", s); doc.title = s',
  'a replacement that squares 100,000 characters':
    'let s = ""; s.pad(100000, "x"); s.replace("x", s); doc.title = s',
  '60 variables of 10 MB': [
    'let s = ""; s.pad(10000000, "x");',
    ...Array.from({ length: 60 }, (_, i) => `let v${i} = s + "${i}";`),
  ].join(' '),
  'an array of 60 texts of 1 MB':
    'let a = []; for i in 0..60 { let s = "" + i; s.pad(1000000, "x"); a += s; } doc.n = a.len()',
  'a text that doubles': 'let s = "x"; for i in 0..60 { s += s; } doc.title = s',
  'an array that doubles': 'let a = [1]; for i in 0..60 { a += a; } doc.n = a.len()',
  'arrays of arrays that double': 'let a = [1]; for i in 0..60 { a = [a, a]; } doc.title = "" + a',
  'a map that grows': 'let m = #{}; for i in 0..10000000 { m["" + i] = i; } doc.n = m.len()',
  'a blob of 1 GB': 'let b = blob(1000000000, 1); doc.n = b.len()',
  'a text cut into characters': 'let s = ""; s.pad(9000000, "x"); let a = s.split(""); doc.n = a.len()',
  'an endless loop': 'loop { }',
  'an endless recursion': 'fn f(n) { f(n + 1) } f(0)',
  'a sort by a slow comparison':
    'let a = []; a.pad(100000, 1); a.sort(|x, y| { let s = ""; s.pad(10000, "x"); 0 })',
}
const edits: readonly Case[] = Object.entries(scripts).map(
  ([kind, script]): Case => ({
    name: `script: ${kind}`,
    prepare: spare,
    requests: [post(`${upload}/edit`, json({ function: script, filter: null }))],
    wanted: { statuses: [202, 400] },
    afterwards: [{ request: get(`${upload}/1`), status: 200, holds: '"title":"a"' }],
    indexes: ['spare'],
  }),
)

// Texts that regular expressions could stumble over

const unreachable = 'http://127.0.0.1:1'
const patterns: readonly Case[] = [
  {
    name: 'pattern: payloadSize of 100,000 blanks',
    requests: [post('/export', many(' ', 100_000, `{"url":"${unreachable}","payloadSize":"1`, 'x"}'))],
    wanted: { statuses: [400], code: ['invalid_export_payload_size'], refused: true },
  },
  {
    name: 'pattern: url of 60,000 slashes in an export',
    requests: [post('/export', many('/', 60_000, '{"url":"http:', 'x y"}'))],
    wanted: { statuses: [200, 400] },
  },
  {
    name: 'pattern: url of 60,000 slashes in a network',
    requests: [patch('/network', many('/', 60_000, '{"remotes":{"a":{"url":"http://127.0.0.1:1', '"}}}'))],
    wanted: { statuses: [400, 200] },
    afterwards: [{ request: patch('/network', '{"remotes":null}'), status: 200 }],
  },
  {
    name: 'pattern: path of 14,000 slashes',
    requests: [get(many('/', 14_000, '/indexes', 'x'))],
    wanted: { statuses: [404, 200, 400] },
  },
  {
    name: 'pattern: path of 60,000 slashes',
    requests: [get(many('/', 60_000, '/indexes', 'x'))],
    wanted: { statuses: [431, 404, 400] },
  },
  ...Object.entries({
    'sort of commas': many(',', 15_500, `${search}?sort=`),
    'rankingScoreThreshold of digits': many('1', 15_500, `${search}?rankingScoreThreshold=0.`, 'x'),
    'rankingScoreThreshold of signs': many('-', 15_500, `${search}?rankingScoreThreshold=`),
    'limit of digits': many('1', 15_500, `${search}?limit=`, 'x'),
    'limit of blanks': many('+', 15_500, `${search}?limit=1`, 'x'),
    'vector of commas': many(',', 15_500, `${search}?vector=`),
    'facets of commas': many(',', 15_500, `${search}?facets=`),
    'hybridSemanticRatio of points': many('.', 15_500, `${search}?hybridSemanticRatio=`),
    'task dates of digits': many('1', 15_500, '/tasks?afterEnqueuedAt='),
    'task uids of commas': many(',', 15_500, '/tasks?uids='),
  }).map(
    ([kind, path]): Case => ({
      name: `pattern: ${kind}`,
      requests: [get(path)],
      wanted: { statuses: [200, 400] },
    }),
  ),
  ...Object.entries({
    'sort of blanks': ['{"sort":["n', ' ', ':x"]}'],
    'sort of colons': ['{"sort":["', ':', 'asc"]}'],
    'sort by a point of blanks': ['{"sort":["_geoPoint(', ' ', 'x):asc"]}'],
    'crop of colons': ['{"attributesToCrop":["body', ':', '5"]}'],
    'crop of digits': ['{"attributesToCrop":["body:', '5', 'x"]}'],
    'attributes of points': ['{"attributesToRetrieve":["a', '.', 'b"]}'],
    'attributes of stars': ['{"attributesToRetrieve":["a', '*', 'b"]}'],
    'filter of blanks': ['{"filter":"n', ' ', 'x"}'],
    'filter of quotes': ['{"filter":"n = ', "'", '"}'],
    'filter of backslashes': ['{"filter":"n = \'', '\\\\', '"}'],
    'distinct of points': ['{"distinct":"a', '.', 'b"}'],
  } satisfies Record<string, [string, string, string]>).map(
    ([kind, [open, unit, close]]): Case => ({
      name: `pattern: ${kind}, 300,000 characters`,
      requests: [post(search, many(unit, Math.floor(300_000 / unit.length), open, close), { as: 'tenants' })],
      wanted: answeredOrRefused,
    }),
  ),
  {
    name: 'pattern: CSV number of 300,000 digits',
    prepare: spare,
    requests: [
      post(upload, many('1', 300_000, 'id:number,n:number\n1,', 'x\n'), {
        headers: { 'content-type': 'text/csv' },
      }),
    ],
    wanted: { statuses: [400, 202] },
    indexes: ['spare'],
  },
  {
    name: 'pattern: CSV number of 300,000 blanks',
    prepare: spare,
    requests: [
      post(upload, many(' ', 300_000, 'id:number,n:number\n1,1', 'x\n'), {
        headers: { 'content-type': 'text/csv' },
      }),
    ],
    wanted: { statuses: [400, 202] },
    indexes: ['spare'],
  },
  {
    name: 'pattern: document id of 300,000 characters',
    prepare: spare,
    requests: [post(upload, many('a', 300_000, '[{"id":"', '!"}]'))],
    wanted: { statuses: [202] },
    indexes: ['spare'],
  },
  {
    name: 'pattern: content type of 15,000 characters',
    requests: [
      post('/indexes', '{"uid":"a"}', {
        headers: { 'content-type': `application/${'+'.repeat(15_000)}text` },
      }),
    ],
    wanted: { statuses: [415, 400], refused: true },
  },
  {
    name: 'pattern: authorization of 15,000 blanks',
    requests: [get('/indexes', { headers: { authorization: `Bearer${' '.repeat(15_000)}x` } })],
    wanted: { statuses: [401, 403], refused: true },
  },
]

// Bodies

const millions = (open: string, close: string): Text => many('1,', 1_900_000, open, `1${close}`)
const bodies: readonly Case[] = [
  ...Object.entries({
    'searches by vector': post(search, millions('{"vector":[', ']}')),
    'deletions of documents': post('/indexes/ghost/documents/delete-batch', millions('[', ']')),
    'multi-searches': post('/multi-search', millions('{"queries":[', ']}')),
    swaps: post('/swap-indexes', millions('[', ']')),
    keys: post('/keys', millions('{"actions":[', ']}')),
    settings: patch('/indexes/ghost/settings', millions('{"stopWords":[', ']}')),
    fetches: post('/indexes/many/documents/fetch', millions('{"ids":[', ']}')),
  }).map(
    ([kind, request]): Case => ({
      name: `body: twelve ${kind} of two million values at once`,
      requests: [{ ...request, encoding: 'gzip', copies: 12 }],
      // Fetching documents by ids may succeed: two million ids name few documents.
      wanted: { statuses: [200, 202, 400, 413, 503] },
      indexes: ['ghost'],
      bounds: manyAtOnce,
    }),
  ),
  ...(['gzip', 'br', 'deflate'] as const).map(
    (encoding): Case => ({
      name: `body: 300 MB of blanks as ${encoding}`,
      requests: [post(search, many(' ', 300 * MB), { encoding, as: 'tenants' })],
      wanted: { statuses: [413], code: tooLarge, refused: true },
    }),
  ),
  {
    name: 'body: 300 MB of an upload as gzip',
    requests: [
      post(upload, many('{"id":1}\n', 33 * MB), {
        encoding: 'gzip',
        headers: { 'content-type': 'application/x-ndjson' },
      }),
    ],
    wanted: { statuses: [413], code: tooLarge, refused: true },
  },
  ...[search, upload, '/multi-search', '/keys', '/indexes/many/settings'].map(
    (path): Case => ({
      name: `body: chunks without end to ${path}`,
      requests: [
        {
          ...post(path, many(' ', MB), { delivery: 'endless' }),
          method: path.endsWith('settings') ? 'PATCH' : 'POST',
        },
      ],
      wanted: { statuses: [413, 400], hangUp: true, refused: true },
    }),
  ),
  {
    name: 'body: not gzip, but declared as gzip',
    requests: [post(search, '{"q":"a"}', { headers: { 'content-encoding': 'gzip' } })],
    wanted: { statuses: [400], code: ['bad_request'], refused: true },
  },
  {
    name: 'body: connection closed in the middle',
    requests: [search, upload, '/indexes', '/keys'].map((path) =>
      post(path, json({ uid: 'x'.repeat(50) }), { delivery: 'truncated' }),
    ),
    wanted: { statuses: [400], hangUp: true, refused: true },
  },
  ...Object.entries({
    arrays: [
      { repeat: '[', times: 100_000 },
      { repeat: ']', times: 100_000 },
    ],
    objects: [{ repeat: '{"a":', times: 100_000 }, '1', { repeat: '}', times: 100_000 }],
    'open arrays': [{ repeat: '[', times: 5 * MB }],
  } satisfies Record<string, Text>).map(
    ([kind, text]): Case => ({
      name: `body: nested ${kind}`,
      requests: [search, '/multi-search', '/swap-indexes', '/keys', '/webhooks', '/export'].map((path) =>
        post(path, text),
      ),
      wanted: { statuses: [400, 413], refused: true },
    }),
  ),
  {
    name: 'body: a document with 300,000 fields',
    requests: [
      post(upload, ['{"id":1', ...Array.from({ length: 300_000 }, (_, i) => `,"f${i}":1`), '}'].join('')),
    ],
    wanted: { statuses: [202, 400, 413] },
    indexes: ['spare'],
  },
  {
    name: 'body: a document nested 100,000 levels deep',
    requests: [
      post(upload, ['[{"id":1,"a":', { repeat: '[', times: 100_000 }, { repeat: ']', times: 100_000 }, '}]']),
    ],
    wanted: { statuses: [400], code: ['malformed_payload'], refused: true },
  },
]

// Many of something

const pairs = (count: number): string =>
  json(Array.from({ length: count }, (_, i) => ({ indexes: [`a${i}`, `b${i}`] })))
const counts: readonly Case[] = [
  {
    name: 'count: 40,000 pairs to swap',
    requests: [post('/swap-indexes', pairs(40_000))],
    wanted: { statuses: [400, 413], refused: true },
  },
  {
    name: 'count: 100,000 equal pairs to swap',
    requests: [
      post(
        '/swap-indexes',
        many('{"indexes":["films","many"]},', 100_000, '[', '{"indexes":["films","many"]}]'),
      ),
    ],
    wanted: { statuses: [400, 413], refused: true },
  },
  ...['', '"federation":{},'].map(
    (federation): Case => ({
      name: `count: a multi-search of 30,000 queries${federation === '' ? '' : ', federated'}`,
      requests: [
        post(
          '/multi-search',
          many('{"indexUid":"many","q":"a"},', 30_000, `{${federation}"queries":[`, '{"indexUid":"many"}]}'),
        ),
      ],
      wanted: answeredOrRefused,
    }),
  ),
  {
    name: 'count: 100,000 attributes to retrieve',
    requests: [post(search, many('"title",', 100_000, '{"limit":300,"attributesToRetrieve":[', '"title"]}'))],
    wanted: answeredOrRefused,
  },
  {
    name: 'count: 20,000 patterns to highlight',
    requests: [
      post(search, many('"t*e*",', 20_000, '{"limit":300,"q":"a","attributesToHighlight":[', '"*"]}')),
    ],
    wanted: answeredOrRefused,
  },
  {
    name: 'count: 100,000 facets',
    requests: [post(search, many('"tags",', 100_000, '{"facets":[', '"n"]}'))],
    wanted: answeredOrRefused,
  },
  {
    name: 'count: 100,000 sorts',
    requests: [post(search, many('"n:asc",', 100_000, '{"sort":[', '"n:asc"]}'))],
    wanted: answeredOrRefused,
  },
  {
    name: 'count: a filter of 100,000 values',
    requests: [post(search, many('1,', 100_000, '{"filter":"n IN [', '2]"}'))],
    wanted: answeredOrRefused,
  },
  {
    name: 'count: a filter of 100,000 alternatives',
    requests: [post(search, many('n = 1 OR ', 100_000, '{"filter":"', 'n = 2"}'))],
    wanted: answeredOrRefused,
  },
  {
    name: 'count: a filter list of 100,000 conditions',
    requests: [post(search, many('"n = 1",', 100_000, '{"filter":[', '"n = 2"]}'))],
    wanted: answeredOrRefused,
  },
  {
    name: 'count: 100,000 synonyms',
    requests: [
      put(
        '/indexes/spare/settings/synonyms',
        json(Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`w${i}`, [`v${i}`]]))),
      ),
    ],
    wanted: { statuses: [202, 400, 413] },
    indexes: ['spare'],
    // This number is allowed. Old and new settings and the engine's form of them are in memory at once.
    bounds: { growthBytesMax: 200 * MB },
  },
  {
    name: 'count: 20,000 webhook headers',
    requests: [
      post(
        '/webhooks',
        json({
          url: unreachable,
          headers: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`h${i}`, 'x'])),
        }),
      ),
    ],
    wanted: { statuses: [400, 413], refused: true },
  },
  {
    name: 'count: 100,000 patterns of filterable attributes',
    requests: [
      put(
        '/indexes/spare/settings/filterable-attributes',
        json(Array.from({ length: 100_000 }, (_, i) => `*a${i}*b*`)),
      ),
    ],
    wanted: { statuses: [202, 400, 413] },
    indexes: ['spare'],
  },
  {
    name: 'count: 100,000 indexes of a key',
    requests: [
      post(
        '/keys',
        json({
          actions: ['search'],
          expiresAt: null,
          indexes: Array.from({ length: 100_000 }, (_, i) => `a${i}*`),
        }),
      ),
    ],
    wanted: { statuses: [201, 400, 413] },
  },
]

// Answers

const bigDocuments = (count: number, bytes: number): Text => [
  '[',
  ...Array.from({ length: count }, (_, id) => [
    `${id > 0 ? ',' : ''}{"id":${id},"t":"`,
    { repeat: 'a', times: bytes },
    '"}',
  ]).flat(),
  ']',
]
const big = post('/indexes/big/documents?primaryKey=id', bigDocuments(300, 100_000))
const answers: readonly Case[] = [
  {
    name: 'answer: highlight tags of 1 MB in 300 hits',
    requests: [
      post(
        search,
        many('x', MB, '{"q":"boat","limit":300,"attributesToHighlight":["*"],"highlightPreTag":"', '"}'),
        { as: 'tenants' },
      ),
    ],
    wanted: answeredOrRefused,
  },
  {
    name: 'answer: crop markers of 1 MB in 300 hits',
    requests: [
      post(search, many('x', MB, '{"q":"boat","limit":300,"attributesToCrop":["*:1"],"cropMarker":"', '"}'), {
        as: 'tenants',
      }),
    ],
    wanted: answeredOrRefused,
  },
  {
    name: 'answer: highlight tags of 1 MB in a multi-search',
    requests: [
      post(
        '/multi-search',
        many(
          'x',
          MB,
          '{"queries":[{"indexUid":"many","q":"boat","limit":300,"attributesToHighlight":["*"],"highlightPostTag":"',
          '"}]}',
        ),
      ),
    ],
    wanted: answeredOrRefused,
  },
  {
    name: 'answer: 30 MB, asked by four clients that do not read',
    prepare: [big],
    requests: [post('/indexes/big/search', '{"limit":1000}', { delivery: 'unread', copies: 4 })],
    wanted: { statuses: [200] },
    bounds: manyAtOnce,
    afterwards: [{ request: post('/indexes/big/search', '{"limit":1}'), status: 200, holds: '"id":0' }],
    indexes: ['big'],
  },
  {
    name: 'answer: 30 MB of documents, asked by four clients that do not read',
    prepare: [big],
    requests: [get('/indexes/big/documents?limit=1000', { delivery: 'unread', copies: 4 })],
    wanted: { statuses: [200] },
    bounds: manyAtOnce,
    afterwards: [{ request: post('/indexes/big/search', '{"limit":1}'), status: 200, holds: '"id":0' }],
    indexes: ['big'],
  },
  {
    name: 'answer: thirty times 30 MB in one multi-search',
    prepare: [big],
    requests: [
      post(
        '/multi-search',
        many('{"indexUid":"big","limit":1000},', 29, '{"queries":[', '{"indexUid":"big","limit":1000}]}'),
      ),
    ],
    wanted: answeredOrRefused,
    indexes: ['big'],
  },
]

// Templates and providers

const doubling = `{% assign a = "x" %}${'{% assign a = a | append: a %}'.repeat(25)}{{a}}`
const loop = '{% for a in (1..100000) %}{% for b in (1..100000) %}x{% endfor %}{% endfor %}'
const embedder = (path: string, template: string): string =>
  json({
    embedders: {
      e: {
        source: 'rest',
        url: `{provider}${path}`,
        dimensions: 3,
        documentTemplate: template,
        documentTemplateMaxBytes: 50,
        request: '{{text}}',
        response: { embeddings: ['{{embedding}}'] },
      },
    },
  })
const render = (inline: string): string =>
  json({
    template: { kind: 'inlineDocumentTemplate', inline },
    input: { kind: 'inlineDocument', inline: { a: 'x' } },
  })
const outside: readonly Case[] = [
  ...Object.entries({ 'a text doubled 25 times': doubling, 'ten thousand million turns': loop }).flatMap(
    ([kind, template]): readonly Case[] => [
      {
        name: `template: ${kind}, rendered`,
        requests: [post('/render-template', render(template))],
        wanted: { statuses: [200, 400] },
      },
      {
        name: `template: ${kind}, of an embedder`,
        prepare: spare,
        requests: [patch('/indexes/spare/settings', embedder('/embed', template))],
        wanted: { statuses: [202, 400] },
        indexes: ['spare'],
      },
    ],
  ),
  ...['/deep', '/wide', '/endless', '/broken', '/names', '/elsewhere'].flatMap((path): readonly Case[] => [
    {
      name: `provider: ${path} for documents`,
      prepare: spare,
      requests: [patch('/indexes/spare/settings', embedder(path, '{{doc.title}}'))],
      wanted: { statuses: [202, 400] },
      indexes: ['spare'],
    },
    {
      name: `provider: ${path} for a query`,
      prepare: [patch('/indexes/spare/settings', embedder(path, '{{doc.title}}'))],
      requests: [post('/indexes/spare/search', '{"q":"a","hybrid":{"embedder":"e","semanticRatio":1}}')],
      wanted: { statuses: [200, 400, 502] },
      indexes: ['spare'],
    },
  ]),
  ...['/deep', '/wide', '/endless'].flatMap((path): readonly Case[] => [
    {
      name: `provider: ${path} as another server`,
      prepare: [patch('/network', json({ self: 'here', remotes: { there: { url: `{provider}${path}?` } } }))],
      requests: [
        post(
          '/multi-search',
          '{"federation":{},"queries":[{"indexUid":"many","federationOptions":{"remote":"there"}}]}',
        ),
      ],
      wanted: { statuses: [200, 400, 502] },
      afterwards: [{ request: patch('/network', '{"self":null,"remotes":null}'), status: 200 }],
    },
    {
      name: `provider: ${path} as the target of an export`,
      requests: [post('/export', `{"url":"{provider}${path}?","indexes":{"films":{}}}`)],
      wanted: { statuses: [200, 400] },
    },
  ]),
]

// Shapes

const vertices = (count: number, lat: number): string =>
  Array.from({ length: count + 1 }, (_, i) => {
    const angle = (2 * Math.PI * (i % count)) / count
    return `[${(Math.cos(angle) * (1 + (i % 2) * 0.01)).toFixed(6)},${(lat + Math.sin(angle)).toFixed(6)}]`
  }).join(',')
const shapes = post(
  '/indexes/shapes/documents?primaryKey=id',
  `[${Array.from({ length: 12 }, (_, id) => `{"id":${id},"_geojson":{"type":"Polygon","coordinates":[[${vertices(20_000, id / 100)}]]}}`).join(',')}]`,
)
const polygon = `_geoPolygon(${Array.from({ length: 400 }, (_, i) => {
  const angle = (2 * Math.PI * i) / 400
  return `[${(Math.sin(angle) * (0.9 + (i % 2) * 0.2)).toFixed(4)}, ${(Math.cos(angle) * (0.9 + (i % 2) * 0.2)).toFixed(4)}]`
}).join(', ')})`
const geo: readonly Case[] = [
  {
    name: 'shape: a jagged polygon against shapes of 20,000 vertices',
    prepare: [put('/indexes/shapes/settings/filterable-attributes', '["_geojson"]'), shapes],
    requests: [post('/indexes/shapes/search', json({ filter: polygon }), { copies: 4 })],
    wanted: answeredOrRefused,
    indexes: ['shapes'],
  },
  {
    name: 'shape: a polygon of 100,000 vertices',
    requests: [post(search, many('[1, 2], ', 100_000, '{"filter":"_geoPolygon([0, 0], ', '[3, 3])"}'))],
    wanted: answeredOrRefused,
  },
]

// Names, addresses, encodings

const oddNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
const names: readonly Case[] = [
  ...oddNames.map(
    (name): Case => ({
      name: `name: an embedder called ${name}`,
      requests: [
        patch('/indexes/spare/settings/embedders', `{"${name}":{"source":"userProvided","dimensions":2}}`),
      ],
      wanted: { statuses: [202], task: ['succeeded'] },
      afterwards: [
        { request: get('/indexes/spare/settings/embedders'), status: 200, holds: `"${name}"` },
        {
          request: post('/indexes/spare/search', `{"vector":[1,0],"hybrid":{"embedder":"${name}"}}`),
          status: 200,
        },
      ],
      indexes: ['spare'],
    }),
  ),
  ...oddNames.map(
    (name): Case => ({
      name: `name: an attribute called ${name}`,
      prepare: [
        put('/indexes/spare/settings/filterable-attributes', json([name])),
        put('/indexes/spare/settings/sortable-attributes', json([name])),
      ],
      requests: [post(`${upload}?primaryKey=id`, `[{"id":1,"${name}":"x"},{"id":2,"${name}":{"a":"y"}}]`)],
      wanted: { statuses: [202], task: ['succeeded'] },
      afterwards: [
        { request: get(`${upload}/1`), status: 200, holds: `"${name}":"x"` },
        {
          request: post(
            '/indexes/spare/search',
            json({ filter: `${name} = x`, sort: [`${name}:asc`], facets: [name] }),
          ),
          status: 200,
          holds: `"${name}":{"x":1}`,
        },
      ],
      indexes: ['spare'],
    }),
  ),
  ...oddNames.map(
    (name): Case => ({
      name: `name: a remote called ${name}`,
      requests: [patch('/network', `{"self":"here","remotes":{"${name}":{"url":"${unreachable}"}}}`)],
      wanted: { statuses: [200, 400] },
      afterwards: [{ request: patch('/network', '{"self":null,"remotes":null}'), status: 200 }],
    }),
  ),
  ...[
    'file:///etc/passwd',
    'gopher://127.0.0.1/',
    'ftp://127.0.0.1/',
    'javascript:alert(1)',
    'unix:/tmp/x',
    '//127.0.0.1/',
    '',
  ].map(
    (url): Case => ({
      name: `name: a webhook to ${url === '' ? 'nothing' : url}`,
      requests: [post('/webhooks', json({ url }))],
      wanted: { statuses: [400], refused: true },
    }),
  ),
  ...[
    '\u0000',
    'a\u0000b',
    '\ud800',
    '../films',
    'films/../many',
    'a b',
    '\u202efilms',
    'x'.repeat(401),
    '',
  ].map(
    (uid): Case => ({
      name: `name: an index called ${json(uid.length > 20 ? `${uid.slice(0, 5)}…` : uid)}`,
      requests: [post('/indexes', json({ uid }))],
      wanted: { statuses: [400], refused: true },
    }),
  ),
  ...['1e400', '-1', '1.5', '"1"', '18446744073709551616', '1e2', 'NaN', '0x10', `${'9'.repeat(5000)}`].map(
    (limit): Case => ({
      name: `number: a limit of ${limit.slice(0, 24)}`,
      requests: [post(search, `{"limit":${limit}}`)],
      wanted: { statuses: [400], code: ['invalid_search_limit', 'malformed_payload'], refused: true },
    }),
  ),
  ...['18446744073709551615', '9007199254740993', '4294967296'].map(
    (limit): Case => ({
      name: `number: a limit and an offset of ${limit}`,
      requests: [
        post(search, `{"limit":${limit},"offset":${limit}}`),
        post(search, `{"page":${limit},"hitsPerPage":${limit}}`),
      ],
      wanted: { statuses: [200] },
    }),
  ),
]

// Heads

const heads: readonly Case[] = [
  {
    name: 'head: a header of 60,000 characters',
    requests: [get('/health', { headers: { 'x-a': 'a'.repeat(60_000) } })],
    wanted: { statuses: [431], hangUp: true },
  },
  {
    name: 'head: 3,000 headers',
    requests: [
      get('/indexes', {
        headers: Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`a${i}`, 'b'])),
      }),
    ],
    wanted: { statuses: [200, 400, 431], hangUp: true },
  },
  {
    name: 'head: a length and chunks at once',
    requests: [
      post(search, '{"q":"a"}', { headers: { 'transfer-encoding': 'chunked', 'content-length': '5' } }),
    ],
    wanted: { statuses: [400], hangUp: true },
  },
  {
    name: 'head: a length that is not a number',
    requests: [post(search, '{}', { headers: { 'content-length': '-1' } })],
    wanted: { statuses: [400], hangUp: true },
  },
  {
    name: 'head: a length of a gigabyte',
    requests: [search, upload, '/indexes'].map((path) =>
      post(path, '{', { headers: { 'content-length': '1000000000' } }),
    ),
    wanted: { statuses: [413], code: tooLarge, refused: true },
  },
  {
    // Node.js wrote `100 Continue` into the middle of an answer that was queued behind an earlier one.
    name: 'head: three pipelined requests that expect 100-continue',
    requests: [
      {
        method: 'DELETE',
        path: '/chats/a/settings',
        headers: { expect: '100-continue' },
        delivery: 'pipelined',
      },
    ],
    wanted: { statuses: [404], code: ['chat_not_found'], refused: true },
  },
  {
    name: 'head: bytes that are not HTTP',
    requests: [{ method: '\u0000\u0001', path: '/' }],
    wanted: { statuses: [400], hangUp: true },
  },
  {
    name: 'head: an unknown method',
    requests: [{ method: 'BREW', path: '/' }],
    wanted: { statuses: [400, 404, 405], hangUp: true },
  },
  {
    name: 'head: an unfinished percent in a path',
    requests: [get('/indexes/%')],
    wanted: { statuses: [400], refused: true },
  },
  {
    name: 'head: bytes in a path',
    requests: [get(['/indexes/', { hex: 'fffe', times: 1 }])],
    wanted: { statuses: [400, 404], hangUp: true },
  },
]

// Rights

const forbidden = {
  statuses: [403],
  code: ['invalid_api_key'],
  refused: true,
} as const satisfies Case['wanted']
const rights: readonly Case[] = [
  ...[
    get('/keys'),
    get('/tasks'),
    get('/indexes'),
    get('/stats'),
    get('/metrics'),
    get('/network'),
    get('/webhooks'),
    get('/indexes/films/settings'),
    get('/indexes/films/documents'),
    post('/dumps', ''),
    post('/indexes', '{"uid":"mine"}'),
    post('/indexes/films/documents', '[{"id":1}]'),
    post('/swap-indexes', '[]'),
    patch('/experimental-features', '{"metrics":true}'),
    post('/indexes/hidden-77ab/search', '{}'),
    post('/multi-search', '{"queries":[{"indexUid":"hidden-77ab"}]}'),
    post('/multi-search', '{"federation":{},"queries":[{"indexUid":"films"},{"indexUid":"hidden-77ab"}]}'),
    post(
      '/multi-search',
      '{"federation":{"facetsByIndex":{"hidden-77ab":["owner"]}},"queries":[{"indexUid":"films"}]}',
    ),
  ].map(
    (request): Case => ({
      name: `right: a search key asks ${request.method} ${request.path} ${typeof request.body === 'string' ? request.body : ''}`,
      requests: [{ ...request, as: 'films' }],
      wanted: forbidden,
    }),
  ),
  ...[
    'owner = b',
    'owner = a OR owner = b',
    "owner = 'a') OR (owner = 'b'",
    'NOT owner = a',
    'owner != a',
  ].map(
    (filter): Case => ({
      name: `right: a tenant filters by ${filter}`,
      requests: [post(search, json({ filter, limit: 1000 }), { as: 'tenant' })],
      wanted: { statuses: [200, 400] },
    }),
  ),
]

export const corpus: readonly Case[] = [
  ...queries,
  ...edits,
  ...patterns,
  ...bodies,
  ...counts,
  ...answers,
  ...outside,
  ...geo,
  ...names,
  ...heads,
  ...rights,
  ...featureCases,
]
