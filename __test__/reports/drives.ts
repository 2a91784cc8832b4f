import { cpus, release, totalmem } from 'node:os'
import type { ExecutionContext } from 'ava'
import type { TestServer } from '../support/server.js'
import type { Launched } from './world.js'

/** Requests, and the figures that they cause in the next report, by event and name. A pattern matches a text. */
export interface Drive {
  readonly of: string
  readonly run: (server: TestServer, t: ExecutionContext) => Promise<unknown>
  readonly events: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

const films = '/indexes/films'
const client = { headers: { 'x-meilisearch-client': 'Tests (v1)' } }
const day = '2020-01-01'
const searchable = { facetSearch: true, filter: { equality: true, comparison: false } }

export const drives: readonly Drive[] = [
  {
    of: 'features, network and webhooks',
    async run(server) {
      await server.patch('/experimental-features', {
        ...{ network: true, multimodal: true, compositeEmbedders: true, containsFilter: true },
        ...{ editDocumentsByFunction: true, metrics: true, logsRoute: true },
      })
      await server.patch('/network', { self: 'here', remotes: { far: { url: 'http://127.0.0.1:9' } } })
      await server.post('/webhooks', { url: 'ftp://nowhere' })
      await server.post('/webhooks', {})
      await server.post('/webhooks', { url: 'https://hooks.example/1' })
      const { body } = await server.post('/webhooks', { url: 'https://hooks.example/2' })
      await server.patch(`/webhooks/${body.uuid}`, { url: null })
      await server.patch('/webhooks/5e0a3f0c-6f3b-4f5e-9b52-0d5f6f0f7c11', { url: 'https://hooks.example/3' })
      await server.patch(`/webhooks/${body.uuid}`, { url: 'https://hooks.example/4' })
    },
    events: {
      'Experimental features Updated': { network: true, multimodal: true },
      'Network Updated': { network_has_self: true, network_size: 1 },
      'Webhooks Created': { webhooks_created: 2 },
      'Webhooks Updated': { 'webhooks.updated': 1 },
    },
  },
  {
    of: 'chats',
    async run(server) {
      await server.patch('/experimental-features', { chatCompletions: true })
      await server.patch('/chats/alpha/settings', {
        source: 'vLlm',
        baseUrl: 'http://127.0.0.1:9',
        limits: {},
      })
      await server.patch('/chats/alpha/settings', { source: 'unknown' })
      const question = { model: 'alpha', messages: [] }
      await server.post('/chats/alpha/chat/completions', { ...question, stream: true })
      await server.post('/chats/alpha/chat/completions', question)
    },
    events: {
      'Chat Settings Updated': { source: ['vLlm'] },
      'Chat Completion POST': {
        ...{ 'requests.total_received': 2, 'requests.total_streamed': 1 },
        source: ['vLlm'],
      },
    },
  },
  {
    of: 'settings',
    async run(server, t) {
      const change = (settings: object) => server.settle(t, server.patch(`${films}/settings`, settings))
      await change({
        rankingRules: ['words', 'typo', 'proximity', 'sort', 'attribute', 'exactness', 'year:desc'],
        sortableAttributes: ['_geo', 'year'],
        filterableAttributes: ['_geo', 'year', { attributePatterns: ['gen*'], features: searchable }],
        searchableAttributes: ['*'],
        displayedAttributes: ['*', 'title'],
        typoTolerance: {
          enabled: true,
          disableOnAttributes: ['genre'],
          disableOnWords: ['alien'],
          minWordSizeForTypos: { oneTypo: 6, twoTypos: 10 },
        },
        pagination: { maxTotalHits: 1000 },
        faceting: {
          maxValuesPerFacet: 100,
          sortFacetValuesBy: { '*': 'count', year: 'alpha', genre: 'count' },
        },
        distinctAttribute: 'title',
        proximityPrecision: 'byWord',
        facetSearch: true,
        prefixSearch: 'indexingTime',
        stopWords: ['the', 'of'],
        separatorTokens: ['|'],
        nonSeparatorTokens: ['#', '@', '&'],
        dictionary: ['J. R. R.'],
        synonyms: { film: ['movie'], movie: ['film'] },
        localizedAttributes: [{ attributePatterns: ['title'], locales: ['jpn'] }],
        embedders: {
          own: { source: 'userProvided', dimensions: 2, binaryQuantized: false },
          far: {
            ...{ source: 'rest', url: 'http://127.0.0.1:9', dimensions: 2 },
            ...{ request: '{{text}}', response: '{{embedding}}' },
            ...{ documentTemplate: '{{doc.title}}', documentTemplateMaxBytes: 300 },
          },
        },
      })
    },
    events: {
      'Settings Updated': {
        'ranking_rules.words_position': 0,
        'ranking_rules.typo_position': 1,
        'ranking_rules.proximity_position': 2,
        'ranking_rules.attribute_position': 4,
        'ranking_rules.sort_position': 3,
        'ranking_rules.exactness_position': 5,
        'ranking_rules.values': 'words, typo, proximity, sort, attribute, exactness',
        'sortable_attributes.total': 2,
        'sortable_attributes.has_geo': true,
        'filterable_attributes.total': 3,
        'filterable_attributes.has_geo': true,
        'filterable_attributes.has_patterns': true,
        'searchable_attributes.total': 1,
        'searchable_attributes.with_wildcard': true,
        'displayed_attributes.total': 2,
        'displayed_attributes.with_wildcard': true,
        'typo_tolerance.enabled': true,
        'typo_tolerance.disable_on_attributes': true,
        'typo_tolerance.disable_on_words': true,
        'typo_tolerance.min_word_size_for_typos.one_typo': 6,
        'typo_tolerance.min_word_size_for_typos.two_typos': 10,
        'pagination.max_total_hits': 1000,
        'faceting.max_values_per_facet': 100,
        'faceting.sort_facet_values_by_star_count': true,
        'faceting.sort_facet_values_by_total': 2,
        'distinct_attribute.set': true,
        'proximity_precision.set': true,
        'proximity_precision.value': 'byWord',
        'facet_search.set': true,
        'facet_search.value': true,
        'prefix_search.set': true,
        'prefix_search.value': 'indexingTime',
        'stop_words.total': 2,
        'separator_tokens.total': 1,
        'non_separator_tokens.total': 3,
        'dictionary.total': 1,
        'synonyms.total': 2,
        locales: ['jpn'],
        'embedders.total': 2,
        'embedders.sources': ['rest', 'userProvided'],
        'embedders.document_template_used': true,
        'embedders.document_template_max_bytes': 300,
        'embedders.binary_quantization_used': true,
      },
    },
  },
  {
    of: 'later settings, which leave embedders their source',
    async run(server, t) {
      const change = (path: string, body: unknown) =>
        server.settle(t, server.patch(`${films}/settings${path}`, body))
      await change('', { rankingRules: ['attributeRank', 'wordPosition', 'sort'], distinctAttribute: null })
      await change('/embedders', { far: null, own: { binaryQuantized: true } })
    },
    events: {
      'Settings Updated': {
        'ranking_rules.attribute_rank_position': 0,
        'ranking_rules.attribute_position_position': 1,
        'embedders.total': 1,
        'embedders.sources': ['userProvided'],
      },
    },
  },
  {
    of: 'documents',
    async run(server, t) {
      await server.post('/indexes/books/documents?primaryKey=other', '[', client)
      await server.post('/indexes/books/documents?primaryKey=other', 'x', {
        headers: { 'content-type': 'text/odd; a=b' },
      })
      await server.settle(t, server.post('/indexes/books/documents?primaryKey=isbn', [{ isbn: 1 }], client))
      await server.settle(
        t,
        server.post(`${films}/documents`, [
          {
            id: 1,
            title: 'alpha one',
            genre: 'sea',
            year: 1990,
            _geo: { lat: 1, lng: 2 },
            _vectors: { own: [1, 0] },
          },
          {
            id: 2,
            title: 'alpha two',
            genre: 'war',
            year: 1991,
            _geo: { lat: 1, lng: 2 },
            _vectors: { own: [0, 1] },
          },
        ]),
      )
      await server.get(`${films}/documents`)
      await server.post(`${films}/documents/fetch`, { filter: '_vectors EXISTS' })
      await server.delete(`${films}/documents/9`)
      await server.post(`${films}/documents/delete-batch`, [8, 9])
      await server.post(`${films}/documents/delete`, { filter: 'year = 3' })
      await server.settle(t, server.delete('/indexes/books/documents'))
    },
    events: {
      'Documents Added': {
        user_agent: ['Tests (v1)', 'unknown'],
        payload_type: ['application/json', 'text/odd; a=b'],
        primary_key: 'isbn',
        index_creation: true,
      },
      'Documents Fetched GET': { per_filter: true },
      'Documents Fetched POST': { per_filter: true, with_vector_filter: true },
      'Documents Deleted': { per_document_id: true, per_batch: true, per_filter: true, clear_all: true },
    },
  },
  {
    of: 'tasks and statistics',
    async run(server) {
      const dates = ['EnqueuedAt', 'StartedAt', 'FinishedAt'].map(
        (at) => `before${at}=${day}&after${at}=${day}`,
      )
      await server.get(
        `/tasks?uids=1&indexUids=films&types=settingsUpdate&statuses=failed&canceledBy=1&${dates.join('&')}`,
      )
      await server.get(`${films}/stats`)
    },
    events: {
      'Tasks Seen': {
        ...{ per_task_uid: true, filtered_by_uid: true, filtered_by_index_uid: true, filtered_by_type: true },
        ...{ filtered_by_status: true, filtered_by_canceled_by: true },
        ...{ filtered_by_before_enqueued_at: true, filtered_by_after_enqueued_at: true },
        ...{ filtered_by_before_started_at: true, filtered_by_after_started_at: true },
        ...{ filtered_by_before_finished_at: true, filtered_by_after_finished_at: true },
      },
      'Stats Seen': { per_index_uid: true },
    },
  },
  {
    of: 'searches, one refused during parsing and one later',
    async run(server) {
      const search = (body: object) => server.post(`${films}/search`, body)
      await search({
        ...{ q: 'alpha one slow -other', filter: ['_geoRadius(1, 2, 3000)', ['year > 1', 'year < 3']] },
        ...{ sort: ['_geoPoint(1, 2):asc', 'year:asc'], distinct: 'genre', facets: ['genre', 'year'] },
        ...{ offset: 1, limit: 35, attributesToRetrieve: ['id', 'year'] },
        ...{ attributesToHighlight: ['title'], attributesToCrop: ['title', 'genre', 'id'] },
        // Defaults that are sent are used.
        ...{ highlightPreTag: '<em>', highlightPostTag: '</em>', cropLength: 10, cropMarker: '…' },
        ...{ showMatchesPosition: true, showRankingScore: true, showRankingScoreDetails: true },
        ...{ rankingScoreThreshold: 0.1, attributesToSearchOn: ['title'], matchingStrategy: 'last' },
        ...{ locales: ['fra'], retrieveVectors: true },
      })
      const hybrid = { embedder: 'own', semanticRatio: 0.5 }
      await search({
        page: 2,
        vector: [0.1, 0.2],
        hybrid,
        filter: ['_geoBoundingBox([2, 3], [0, 1])', ['year > 1']],
      })
      await search({ hitsPerPage: 3, matchingStrategy: 'last', media: { text: 'x' }, hybrid })
      await search({ page: 1, filter: '_vectors.own EXISTS', matchingStrategy: 'all' })
      await search({ q: 5 })
    },
    events: {
      'Documents Searched POST': {
        'requests.99th_response_time': /^[1-9]\d*$/,
        'requests.total_received': 5,
        'requests.total_succeeded': 3,
        'requests.total_failed': 2,
        'requests.total_degraded': 1,
        'requests.total_used_negative_operator': 1,
        'sort.with_geoPoint': true,
        'sort.avg_criteria_number': '2.00',
        'filter.with_geoBoundingBox': true,
        'filter.with_geoRadius': true,
        'filter.on_vectors': true,
        'filter.most_used_syntax': 'mixed',
        'q.max_terms_number': 3,
        'pagination.max_limit': 35,
        'pagination.max_offset': 1,
        'pagination.most_used_navigation': 'exhaustive',
        'formatting.max_attributes_to_retrieve': 2,
        'formatting.max_attributes_to_highlight': 1,
        'formatting.max_attributes_to_crop': 3,
        'formatting.highlight_pre_tag': true,
        'formatting.highlight_post_tag': true,
        'formatting.crop_length': true,
        'formatting.crop_marker': true,
        'formatting.show_matches_position': true,
        'facets.avg_facets_number': '2.00',
        'scoring.show_ranking_score': true,
        'scoring.show_ranking_score_details': true,
        'scoring.ranking_score_threshold': true,
        'attributes_to_search_on.total_number_of_uses': 1,
        'matching_strategy.most_used_strategy': 'last',
        locales: ['fra'],
        'vector.max_vector_size': 2,
        'vector.retrieve_vectors': true,
        'hybrid.enabled': true,
        'hybrid.semantic_ratio': true,
        'hybrid.total_media': 1,
        distinct: true,
      },
    },
  },
  {
    of: 'searches in the query string, for facet values and for similar documents, each refused once during parsing',
    async run(server) {
      await server.get(`${films}/search?q=alpha&limit=7`)
      await server.get(`${films}/search?limit=many`)
      await server.get(`${films}/search?hybridSemanticRatio=0.5`)
      await server.post(`${films}/facet-search`, { facetName: 'genre', facetQuery: 's' })
      await server.post(`${films}/facet-search`, { facetName: 'year', matchingStrategy: 'last' })
      await server.post(`${films}/facet-search`, { facetName: 5 })
      await server.post(`${films}/similar`, { id: 1, embedder: 'own' })
      await server.post(`${films}/similar`, { id: 1 })
      await server.get(`${films}/similar?id=1`)
    },
    events: {
      'Documents Searched GET': {
        ...{ 'requests.total_received': 3, 'requests.total_succeeded': 1, 'requests.total_failed': 2 },
        ...{ 'pagination.max_limit': 7 },
      },
      'Facet Searched POST': {
        ...{ 'requests.total_received': 3, 'requests.total_succeeded': 2, 'requests.total_failed': 1 },
        'facets.total_distinct_facet_count': 2,
        'facets.additional_search_parameters_provided': true,
      },
      'Similar POST': {
        'requests.total_received': 2,
        'requests.total_succeeded': 1,
        'requests.total_failed': 1,
      },
      'Similar GET': { 'requests.total_received': 1, 'requests.total_failed': 1 },
    },
  },
  {
    of: 'multi-searches, one refused during parsing, one for an unknown reranker',
    async run(server) {
      const remote = { indexUid: 'books', federationOptions: { remote: 'far' } }
      await server.post('/multi-search', {
        queries: [{ indexUid: 'films' }, { indexUid: 'films' }, { indexUid: 'films' }],
      })
      await server.post('/multi-search', {
        federation: {},
        queries: [{ indexUid: 'films', showRankingScore: true }, remote],
      })
      await server.post('/multi-search', {
        federation: { rerank: { model: 'm' } },
        queries: [{ indexUid: 'films' }],
      })
      await server.post('/multi-search', { queries: [{ q: 'x' }] })
    },
    events: {
      'Documents Searched by Multi-Search POST': {
        'requests.total_received': 4,
        'requests.total_succeeded': 2,
        'requests.total_failed': 2,
        'searches.avg_search_count': 2,
        'searches.total_search_count': 6,
        'indexes.avg_distinct_index_count': 4 / 3,
        'indexes.total_distinct_index_count': 4,
        'indexes.total_single_index': 2,
        'federation.use_federation': true,
        'rerank.total_number_of_uses': 1,
        'remotes.total_distinct_remote_count': 1,
        'remotes.avg_distinct_remote_count': 1 / 3,
        'scoring.show_ranking_score': true,
      },
    },
  },
  {
    of: 'swaps and exports',
    async run(server, t) {
      await server.post('/swap-indexes', [{ indexes: ['films', 'films'] }])
      await server.settle(t, server.post('/swap-indexes', [{ indexes: ['films', 'books'] }]))
      const target = { url: 'https://far.example', apiKey: 'key', payloadSize: '5MiB' }
      const indexes = { none: { filter: 'year = 1' }, 'no*': {} }
      await server.settle(t, server.post('/export', { ...target, indexes }))
    },
    events: {
      'Indexes Swapped': { swap_operation_number: 1 },
      'Export Triggered': {
        'export.total_received': 1,
        'export.has_api_key': true,
        'export.avg_index_patterns': 2,
        'export.avg_patterns_with_filter': 1,
        'export.avg_payload_size': 5 * 2 ** 20,
      },
    },
  },
]

/** Launch options, and the traits that the instance reports with them. Some options exclude others. */
export const launches: readonly (Launched & { readonly traits: Readonly<Record<string, unknown>> })[] = [
  {
    args: [
      ...[
        '--env',
        'production',
        '--master-key',
        'a-key-of-at-least-16-bytes',
        '--db-path',
        'd',
        '--dump-dir',
        'd',
      ],
      ...['--import-dump', 'd', '--ignore-missing-dump', '--ignore-dump-if-db-exists', '--snapshot-dir', 's'],
      ...[
        '--http-addr',
        'localhost:7701',
        '--schedule-snapshot',
        '3600',
        '--http-payload-size-limit',
        '12345',
      ],
      ...['--log-level', 'debug', '--max-indexing-memory', '67890', '--max-indexing-threads', '2'],
      ...['--ssl-cert-path', 'c', '--ssl-key-path', 'k', '--ssl-auth-path', 'a', '--ssl-ocsp-path', 'o'],
      ...[
        '--ssl-require-auth',
        '--ssl-resumption',
        '--ssl-tickets',
        '--task-webhook-url',
        'https://hooks.example',
      ],
      ...['--experimental-no-edition-2024-for-settings', '--experimental-replication-parameters'],
      ...['--experimental-reduce-indexing-memory-usage', '--experimental-dumpless-upgrade'],
      ...['--experimental-embedding-cache-entries', '150', '--experimental-logs-mode', 'json'],
      ...['--experimental-search-queue-size', '200'],
    ],
    file: '',
    traits: {
      'infos.env': 'production',
      ...{ 'infos.db_path': true, 'infos.import_dump': true, 'infos.dump_dir': true },
      ...{ 'infos.ignore_missing_dump': true, 'infos.ignore_dump_if_db_exists': true },
      ...{ 'infos.snapshot_dir': true, 'infos.http_addr': true, 'infos.schedule_snapshot': 3600 },
      ...{ 'infos.http_payload_size_limit': 12_345, 'infos.log_level': 'DEBUG' },
      ...{ 'infos.max_indexing_memory': 67_890, 'infos.max_indexing_threads': 2 },
      ...{ 'infos.ssl_auth_path': true, 'infos.ssl_cert_path': true, 'infos.ssl_key_path': true },
      ...{ 'infos.ssl_ocsp_path': true, 'infos.ssl_require_auth': true, 'infos.ssl_resumption': true },
      ...{
        'infos.ssl_tickets': true,
        'infos.with_configuration_file': true,
        'infos.task_queue_webhook': true,
      },
      'infos.experimental_no_edition_2024_for_settings': true,
      'infos.experimental_replication_parameters': true,
      'infos.experimental_reduce_indexing_memory_usage': true,
      'infos.experimental_dumpless_upgrade': true,
      'infos.experimental_embedding_cache_entries': 150,
      'infos.experimental_logs_mode': 'json',
      'infos.experimental_search_queue_size': 200,
      // The requests above enable the features.
      'infos.experimental_composite_embedders': true,
      'infos.experimental_contains_filter': true,
      'infos.experimental_edit_documents_by_function': true,
      'infos.experimental_enable_metrics': true,
      'infos.experimental_enable_logs_route': true,
      'infos.experimental_multimodal': true,
      ...{ 'infos.experimental_network': true, experimental_network: true },
      'system.distribution': /\w/,
      'system.kernel_version': release(),
      'system.cores': cpus().length,
      'system.ram_size': Math.floor(totalmem() / 1024),
      'system.server_provider': 'some-cloud',
      'stats.indexes_number': 2,
      start_since_days: 3,
    },
  },
  {
    args: ['--import-snapshot', 's', '--ignore-missing-snapshot', '--ignore-snapshot-if-db-exists'],
    traits: {
      'infos.import_snapshot': true,
      'infos.ignore_missing_snapshot': true,
      'infos.ignore_snapshot_if_db_exists': true,
    },
  },
]
