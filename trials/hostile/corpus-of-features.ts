/**
 * Requests that make features expensive: rules, joins at remotes, array elements, templates, streams, exports, and
 * remote instances with bad answers.
 */
import type { Case } from './case.js'
import type { HostileRequest, Text } from './request.js'

const json = (value: unknown): string => JSON.stringify(value)
const request = (
  method: string,
  path: string,
  body?: Text,
  more: Partial<HostileRequest> = {},
): HostileRequest => ({
  method,
  path,
  ...(body !== undefined && { body }),
  ...more,
})
const post = (path: string, body: Text, more: Partial<HostileRequest> = {}): HostileRequest =>
  request('POST', path, body, more)
const repeated = (repeat: string, times: number, open: string, close: string): Text => [
  open,
  { repeat, times },
  close,
]

const search = '/indexes/many/search'
const answeredOrRefused = { statuses: [200, 400, 413, 503] } as const

const pin = { id: '1', position: 0 }
const ruleOf = (words: string): HostileRequest =>
  request(
    'PATCH',
    '/dynamic-search-rules/hostile',
    json({ active: true, conditions: { query: { words } }, actions: { pin: [pin] } }),
  )
const noRules = request('DELETE', '/dynamic-search-rules')

const rules: readonly Case[] = [
  {
    name: 'rule: words against a query of 65 KB in words',
    prepare: [ruleOf('river')],
    requests: [post(search, repeated('a b ', 16_250, '{"q":"', '"}'), { as: 'tenants', copies: 4 })],
    wanted: answeredOrRefused,
  },
  {
    name: 'rule: a list by a query of 200 KB in words',
    prepare: [ruleOf('river')],
    requests: [post('/dynamic-search-rules', repeated('a b ', 50_000, '{"filter":{"query":"', '"}}'))],
    wanted: answeredOrRefused,
  },
  {
    name: 'rule: words of 3.9 MB',
    requests: [
      request(
        'PATCH',
        '/dynamic-search-rules/hostile',
        repeated('ab ', 1_300_000, '{"conditions":{"query":{"words":"', '"}}}'),
      ),
    ],
    wanted: { statuses: [202, 400, 413] },
  },
  {
    name: 'rule: a multi-search of 1,000 queries against a rule',
    prepare: [ruleOf('river')],
    requests: [
      post(
        '/multi-search',
        repeated(
          '{"indexUid":"many","q":"river","limit":1},',
          999,
          '{"queries":[',
          '{"indexUid":"many","q":"river","limit":1}]}',
        ),
      ),
    ],
    wanted: answeredOrRefused,
  },
  { name: 'rule: removed', requests: [noRules], wanted: { statuses: [202] } },
]

const elements: readonly Case[] = [
  {
    name: 'element: 5,000 terms in one element',
    requests: [
      post(search, repeated('n = 1 OR ', 5_000, '{"filter":"_element(tags, ', 'n = 2)"}'), { as: 'tenants' }),
    ],
    wanted: answeredOrRefused,
  },
  {
    name: 'element: 20,000 terms that contain',
    requests: [
      post(search, repeated('tags CONTAINS u OR ', 20_000, '{"filter":"', 'n = 2"}'), { as: 'tenants' }),
    ],
    wanted: answeredOrRefused,
  },
  {
    name: 'element: a filter that is nested 127 levels deep',
    requests: [
      post(search, ['{"filter":"', { repeat: '(', times: 127 }, 'n = 1', { repeat: ')', times: 127 }, '"}']),
      post(search, ['{"filter":', { repeat: '[', times: 127 }, '"n = 1"', { repeat: ']', times: 127 }, '}']),
      post('/indexes/many/documents/fetch', '{"filter":[null]}'),
    ],
    wanted: answeredOrRefused,
  },
]

const loops = '{% for a in (1..1000) %}{% for b in (1..1000) %}{{a}}{{b}}{% endfor %}{% endfor %}'
const templates: readonly Case[] = [
  {
    name: 'render: ten templates of nested loops at once',
    requests: [
      post(
        '/render-template',
        json({
          template: { kind: 'inlineDocumentTemplate', inline: loops },
          input: { kind: 'inlineDocument', inline: {} },
        }),
        { copies: 10 },
      ),
    ],
    wanted: answeredOrRefused,
  },
]

const joined = { indexUid: 'many', limit: 20, federationOptions: { remote: 'far' } }
const remotes: readonly Case[] = [
  ...[joined, { ...joined, filter: '_foreign(n, owner = a)' }].map(
    (query, at): Case => ({
      name: `remote: ${at === 0 ? 'hits' : 'a filter'} of a tenant that lead to another index`,
      requests: ['tenants', 'tenant', 'tenant-of-all'].map((as) =>
        post('/multi-search', json({ federation: {}, queries: [query] }), { as }),
      ),
      wanted: { statuses: [200, 400, 403] },
    }),
  ),
  ...['/endless', '/deep', '/wide', '/silent'].map(
    (path): Case => ({
      name: `remote: five that answer with ${path.slice(1)}`,
      prepare: [
        request(
          'PATCH',
          '/network',
          json({
            remotes: Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`r${n}`, { url: `{provider}${path}?` }])),
          }),
        ),
      ],
      requests: [
        post(
          '/multi-search',
          json({
            federation: {},
            queries: [1, 2, 3, 4, 5].map((n) => ({
              indexUid: 'many',
              federationOptions: { remote: `r${n}` },
            })),
          }),
          { copies: 3, delivery: path === '/silent' ? 'abandoned' : 'whole' },
        ),
      ],
      wanted: answeredOrRefused,
    }),
  ),
]

const others: readonly Case[] = [
  {
    name: 'similar: as many at once as a client opens connections',
    requests: [
      post('/indexes/many/similar', json({ id: 1, embedder: 'mine', limit: 1000 }), {
        as: 'tenants',
        copies: 200,
      }),
    ],
    wanted: answeredOrRefused,
  },
  {
    name: 'stream: forty of tasks at once',
    requests: [request('GET', '/tasks/stream', undefined, { delivery: 'listening', copies: 40 })],
    wanted: { statuses: [200, 429, 503] },
  },
  {
    name: 'export: twenty to an instance that does not answer',
    requests: [post('/export', json({ url: '{provider}/silent', indexes: { many: {} } }), { copies: 20 })],
    wanted: { statuses: [200] },
    // Reads of the exported index do not wait for the exports.
    afterwards: [{ request: request('GET', '/indexes/many/stats'), status: 200 }],
  },
]

export const featureCases: readonly Case[] = [...rules, ...elements, ...templates, ...remotes, ...others]
