import test, { type ExecutionContext } from 'ava'
import { type Figure, openUsage } from '../../ts/telemetry/index.js'
import { startServer, type TestAnswer, type TestServer } from '../support/server.js'

type Figures = Readonly<Record<string, Figure>>

test('requests of every kind are counted under their event, without data of documents', async (t) => {
  const usage = openUsage()
  const server = await startServer(t, { usage })
  const headers = { 'x-meilisearch-client': 'Tests (v1)' }
  /** Sends a counted request, and asserts its status. */
  const sent = async (status: number, answer: Promise<TestAnswer>): Promise<void> => {
    const { status: answered, bytes } = await answer
    t.is(answered, status, bytes.toString())
  }
  await server.settle(t, server.post('/indexes', { uid: 'secretindex', primaryKey: 'sku' }, { headers }))
  const path = '/indexes/secretindex'
  await server.settle(t, server.post(`${path}/documents`, [{ sku: 1, secretfield: 'secretword', v: 3 }]))
  await sent(
    415,
    server.post(`${path}/documents?primaryKey=sku`, 'x', { headers: { 'content-type': 'text/odd' } }),
  )
  await sent(202, server.put(`${path}/documents`, 'sku\n2', { headers: { 'content-type': 'text/csv' } }))
  await server.settle(
    t,
    server.patch(`${path}/settings`, {
      rankingRules: ['typo', 'words', 'sort', 'secretfield:asc'],
      filterableAttributes: ['_geo', 'secretfield', 'v', { attributePatterns: ['a*'] }],
      sortableAttributes: ['v'],
      stopWords: ['secretword'],
      typoTolerance: { minWordSizeForTypos: { oneTypo: 6 } },
      faceting: { sortFacetValuesBy: { '*': 'count' } },
    }),
  )
  await sent(
    200,
    server.post(
      `${path}/search`,
      {
        q: 'secretword -other',
        filter: ['secretfield = secretword', ['v > 1']],
        sort: ['v:asc'],
        limit: 35,
        attributesToHighlight: ['secretfield'],
        showRankingScore: true,
        cropLength: 3,
      },
      { headers },
    ),
  )
  await sent(400, server.post(`${path}/search`, { q: 'a', page: 2, filter: 'nofield = 1' }))
  await sent(200, server.get(`${path}/search?q=x&hitsPerPage=4`))
  await sent(
    200,
    server.post('/multi-search', { queries: [{ indexUid: 'secretindex' }, { indexUid: 'secretindex' }] }),
  )
  await sent(200, server.post(`${path}/facet-search`, { facetName: 'secretfield', q: 'x' }))
  await sent(200, server.get(`${path}/documents/1`))
  await sent(200, server.post(`${path}/documents/fetch`, { filter: 'secretfield = x', limit: 3 }))
  await sent(202, server.delete(`${path}/documents/1`))
  await sent(202, server.post(`${path}/documents/delete`, { filter: 'secretfield = x' }))
  await sent(200, server.get(`${path}/stats`))
  await sent(200, server.get('/tasks?uids=0&statuses=succeeded'))
  await sent(202, server.post('/swap-indexes', []))
  await sent(
    202,
    server.patch(`${path}/settings/embedders`, {
      secretname: { source: 'userProvided', dimensions: 2, binaryQuantized: true },
    }),
  )
  await sent(200, server.patch('/experimental-features', { network: true }))
  await sent(
    200,
    server.patch('/network', {
      self: 'secretself',
      remotes: { secretremote: { url: 'http://secret.example' } },
    }),
  )

  const reports = usage.report()
  const figures = (event: string): Figures => {
    const report = reports.find((one) => one.name === event)
    if (report === undefined) throw new Error(`nothing was reported as ${event}`)
    return { count: report.count, ...report.figures }
  }
  const has = (event: string, expected: Figures): void => void t.like(figures(event), expected, event)

  has('Index Created', { count: 1, primary_key: 'sku', user_agent: ['Tests (v1)'] })
  has('Documents Added', {
    count: 2,
    payload_type: ['application/json', 'text/odd'],
    primary_key: null,
    index_creation: false,
  })
  has('Documents Updated', { count: 1, payload_type: ['text/csv'] })
  has('Settings Updated', {
    'ranking_rules.typo_position': 0,
    'ranking_rules.words_position': 1,
    'ranking_rules.exactness_position': null,
    'ranking_rules.values': 'typo, words, sort',
    'filterable_attributes.total': 4,
    'filterable_attributes.has_geo': true,
    'filterable_attributes.has_patterns': true,
    'sortable_attributes.has_geo': false,
    'stop_words.total': 1,
    'typo_tolerance.min_word_size_for_typos.one_typo': 6,
    'faceting.sort_facet_values_by_star_count': true,
    'embedders.sources': ['userProvided'],
    'embedders.binary_quantization_used': true,
  })
  has('Documents Searched POST', {
    count: 2,
    'requests.total_received': 2,
    'requests.total_succeeded': 1,
    'requests.total_failed': 1,
    'requests.total_used_negative_operator': 1,
    'filter.most_used_syntax': 'mixed',
    'sort.avg_criteria_number': '1.00',
    'pagination.max_limit': 35,
    'formatting.max_attributes_to_highlight': 1,
    'formatting.crop_length': true,
    'formatting.crop_marker': false,
    'scoring.show_ranking_score': true,
  })
  has('Documents Searched GET', {
    count: 1,
    'pagination.most_used_navigation': 'exhaustive',
    'pagination.max_limit': 4,
  })
  has('Documents Searched by Multi-Search POST', {
    'searches.total_search_count': 2,
    'indexes.total_single_index': 1,
  })
  has('Facet Searched POST', { 'facets.additional_search_parameters_provided': true })
  has('Documents Fetched GET', { per_document_id: true })
  has('Documents Fetched POST', { per_filter: true, 'pagination.max_limit': 3 })
  has('Documents Deleted', { count: 2, per_document_id: true, per_filter: true })
  has('Stats Seen', { per_index_uid: true })
  has('Tasks Seen', { per_task_uid: true, filtered_by_status: true, filtered_by_type: false })
  has('Indexes Swapped', { swap_operation_number: 0 })
  has('Experimental features Updated', { network: true })
  has('Network Updated', { network_has_self: true, network_size: 1 })
  t.notRegex(JSON.stringify(reports), /secret|127\.0\.0\.1/)
})

const creations: readonly {
  readonly of: string
  readonly act: (server: TestServer, t: ExecutionContext) => Promise<unknown>
  readonly event?: string
  readonly creates: boolean
}[] = [
  {
    of: 'that creates its index',
    act: (server, t) => server.settle(t, server.post('/indexes/a/documents', [{ id: 1 }])),
    creates: true,
  },
  {
    of: 'that updates documents and creates its index',
    act: (server, t) => server.settle(t, server.put('/indexes/a/documents', [{ id: 1 }])),
    event: 'Documents Updated',
    creates: true,
  },
  {
    of: 'that is refused',
    act: (server) => server.post('/indexes/a/documents', '[{'),
    creates: false,
  },
  {
    of: 'behind the creation of its index',
    async act(server, t) {
      await server.post('/indexes', { uid: 'a' })
      await server.settle(t, server.post('/indexes/a/documents', [{ id: 1 }]))
    },
    creates: false,
  },
  {
    of: 'whose task never ends',
    async act(server, t) {
      await server.haltQueue()
      const { taskUid } = (await server.post('/indexes/a/documents', [{ id: 1 }])).body
      t.is(taskUid, 0)
    },
    creates: false,
  },
]
for (const { of, act, event = 'Documents Added', creates } of creations) {
  test(`an upload ${of} counts as ${creates ? 'the' : 'no'} creation of an index`, async (t) => {
    const usage = openUsage()
    const server = await startServer(t, { usage })
    await act(server, t)
    // The outcome is counted after the end of its task: at the latest when a later request has been answered.
    await server.get('/tasks')
    const figures = usage.report().find(({ name }) => name === event)?.figures
    t.is(figures?.index_creation, creates)
  })
}

for (const [what, body, expected] of [
  ['without a filter', {}, { filtered: false, with_context: false }],
  ['with a filter', { filter: 'g = u' }, { filtered: true, with_context: false }],
  ['with a context', { context: { by: 2 } }, { filtered: false, with_context: true }],
] as const)
  test(`an edit ${what} is counted as such`, async (t) => {
    const usage = openUsage()
    const server = await startServer(t, { usage, features: ['editDocumentsByFunction'] })
    await server.post('/indexes/a/documents/edit', { function: 'doc.n = 1', ...body })
    const edits = usage.report().find(({ name }) => name === 'Documents Edited By Function')
    t.like(edits?.figures, expected)
  })
