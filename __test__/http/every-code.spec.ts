/**
 * Every parameter is refused with a specific code.
 *
 * Covers the families of the error table for searches, settings, rules, the network and chats: a code without a request here
 * fails the test. Each request is refused immediately, and nothing is enqueued.
 */
import test from 'ava'
import { codes, type ErrorCode } from '../../ts/errors/index.js'
import { checkError } from '../support/refusals.js'
import { startServer } from '../support/server.js'

type Request = readonly [method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: unknown]

const search = (body: object): Request => ['POST', '/indexes/films/search', body]
const facets = (body: object): Request => ['POST', '/indexes/films/facet-search', body]
const similar = (body: object): Request => [
  'POST',
  '/indexes/films/similar',
  { id: 1, embedder: 'e', ...body },
]
const setting = (name: string, body: unknown, method: 'PUT' | 'PATCH' = 'PUT'): Request => [
  method,
  `/indexes/films/settings/${name}`,
  JSON.stringify(body),
]
const rule = (body: object): Request => ['PATCH', '/dynamic-search-rules/one', body]
const rules = (body: object): Request => ['POST', '/dynamic-search-rules', body]
const network = (body: object): Request => ['PATCH', '/network', body]
const chat = (body: object): Request => ['PATCH', '/chats/w/settings', body]
const prompt = (name: string): Request => chat({ prompts: { [name]: 1 } })
const east = (body: object): Request => network({ remotes: { east: { url: 'http://e.example', ...body } } })
const multi = (query: object, federation?: object): Request => [
  'POST',
  '/multi-search',
  { queries: [{ indexUid: 'films', ...query }], ...(federation !== undefined && { federation }) },
]
const federated = (...queries: readonly object[]): Request => [
  'POST',
  '/multi-search',
  { federation: {}, queries },
]
const options = (federationOptions: object): Request => multi({ federationOptions }, {})
const merged = { facetsByIndex: { films: ['genre'], books: ['genre'] }, mergeFacets: {} }

/** A request per code, with no other mistake. */
const refused: Readonly<Record<string, Request>> = {
  missing_search_hybrid: search({ vector: [1] }),
  missing_facet_search_facet_name: facets({}),
  missing_network_url: network({ remotes: { east: {} } }),
  not_found_similar_id: similar({ id: 9, embedder: 'e' }),
  facet_search_disabled: ['POST', '/indexes/books/facet-search', { facetName: 'genre' }],
  unexpected_network_previous_remotes: network({ previousRemotes: {} }),

  invalid_search_q: search({ q: ['a'] }),
  invalid_search_offset: search({ offset: -1 }),
  invalid_search_limit: search({ limit: null }),
  invalid_search_page: search({ page: 0.5 }),
  invalid_search_hits_per_page: search({ hitsPerPage: 'x' }),
  invalid_search_attributes_to_retrieve: search({ attributesToRetrieve: 'title' }),
  invalid_search_attributes_to_crop: search({ attributesToCrop: [1] }),
  invalid_search_crop_length: search({ cropLength: -5 }),
  invalid_search_crop_marker: search({ cropMarker: null }),
  invalid_search_attributes_to_highlight: search({ attributesToHighlight: { 0: 'a' } }),
  invalid_search_highlight_pre_tag: search({ highlightPreTag: 1 }),
  invalid_search_highlight_post_tag: search({ highlightPostTag: [] }),
  invalid_search_show_matches_position: search({ showMatchesPosition: 'true' }),
  invalid_search_matching_strategy: search({ matchingStrategy: 'LAST' }),
  invalid_search_show_ranking_score: search({ showRankingScore: 1 }),
  invalid_search_show_ranking_score_details: search({ showRankingScoreDetails: null }),
  invalid_search_show_performance_details: search({ showPerformanceDetails: 'x' }),
  invalid_search_retrieve_vectors: search({ retrieveVectors: {} }),
  invalid_search_vector: search({ vector: [1, 'x'] }),
  invalid_search_inline_rule: search({ inlineRule: {} }),
  invalid_search_use_network: search({ useNetwork: 'yes' }),
  invalid_search_filter: search({ filter: 'genre = ' }),
  invalid_search_sort: search({ sort: ['year'] }),
  invalid_search_distinct: search({ distinct: 'year' }),
  invalid_search_facets: search({ facets: ['year'] }),
  invalid_search_attributes_to_search_on: search({ attributesToSearchOn: ['ghost'] }),
  invalid_search_locales: search({ locales: ['tlh'] }),
  invalid_search_ranking_score_threshold: search({ rankingScoreThreshold: 1.01 }),
  invalid_search_semantic_ratio: search({ hybrid: { embedder: 'e', semanticRatio: -0.1 } }),
  invalid_search_hybrid_query: search({ hybrid: { semanticRatio: 1 } }),
  invalid_search_embedder: search({ q: 'a', hybrid: { embedder: 'ghost' } }),
  invalid_search_media_and_vector: search({ media: {}, vector: [1], hybrid: { embedder: 'e' } }),
  invalid_search_personalize: search({ personalize: {} }),
  invalid_search_rerank: search({ rerank: 'm' }),
  invalid_search_rerank_model: search({ q: 'a', rerank: { model: 'ghost' } }),
  invalid_search_rerank_top_k: search({ rerank: { model: 'm', topK: 0 } }),
  invalid_search_personalize_user_context: search({ personalize: { userContext: 1 } }),

  invalid_facet_search_facet_name: facets({ facetName: 'year' }),
  invalid_facet_search_query: facets({ facetName: 'genre', facetQuery: 1 }),
  invalid_facet_search_exhaustive_facet_count: facets({ facetName: 'genre', exhaustiveFacetCount: 'x' }),

  invalid_similar_id: similar({ id: 'a b' }),
  invalid_similar_embedder: similar({ embedder: 'ghost' }),
  invalid_similar_filter: similar({ filter: 'genre = ' }),
  invalid_similar_offset: similar({ offset: 1.5 }),
  invalid_similar_limit: similar({ limit: -1 }),
  invalid_similar_attributes_to_retrieve: similar({ attributesToRetrieve: 'id' }),
  invalid_similar_retrieve_vectors: similar({ retrieveVectors: 1 }),
  invalid_similar_ranking_score_threshold: similar({ rankingScoreThreshold: -1 }),
  invalid_similar_show_ranking_score: similar({ showRankingScore: 'x' }),
  invalid_similar_show_ranking_score_details: similar({ showRankingScoreDetails: 0 }),
  invalid_similar_show_performance_details: similar({ showPerformanceDetails: [] }),

  invalid_multi_search_federation_options: multi({ federationOptions: {} }),
  invalid_multi_search_weight: options({ weight: -1 }),
  invalid_multi_search_query_position: options({ queryPosition: -1 }),
  invalid_multi_search_remote: options({ remote: 'nowhere' }),
  invalid_multi_search_query_pagination: multi({ limit: 20 }, {}),
  invalid_multi_search_query_facets: multi({ facets: ['genre'] }, {}),
  invalid_multi_search_query_personalization: multi({ personalize: { userContext: 'x' } }, {}),
  invalid_multi_search_query_show_performance_details: multi({ showPerformanceDetails: false }, {}),
  invalid_multi_search_query_ranking_rules: federated(
    { indexUid: 'films', sort: ['rank:asc'] },
    { indexUid: 'films', sort: ['rank:desc'] },
  ),
  invalid_multi_search_distinct: multi({ distinct: 'genre' }, { distinct: 'genre' }),
  invalid_multi_search_facets_by_index: multi({}, { facetsByIndex: ['films'] }),
  invalid_multi_search_merge_facets: multi({}, { mergeFacets: { most: 1 } }),
  invalid_multi_search_max_values_per_facet: multi({}, { mergeFacets: { maxValuesPerFacet: -1 } }),
  invalid_multi_search_facet_order: [
    'POST',
    '/multi-search',
    { queries: [{ indexUid: 'films' }, { indexUid: 'books' }], federation: merged },
  ],

  invalid_settings_dry_run: setting('stop-words?dryRun=1', []),
  invalid_settings_displayed_attributes: setting('displayed-attributes', 'title'),
  invalid_settings_searchable_attributes: setting('searchable-attributes', [1]),
  invalid_settings_sortable_attributes: setting('sortable-attributes', {}),
  invalid_settings_stop_words: setting('stop-words', 'the'),
  invalid_settings_non_separator_tokens: setting('non-separator-tokens', [null]),
  invalid_settings_separator_tokens: setting('separator-tokens', 3),
  invalid_settings_dictionary: setting('dictionary', [[]]),
  invalid_settings_filterable_attributes: setting('filterable-attributes', [{ features: {} }]),
  invalid_settings_foreign_keys: setting('foreign-keys', [{ fieldName: 'a' }]),
  invalid_settings_ranking_rules: setting('ranking-rules', ['price:up']),
  invalid_settings_synonyms: setting('synonyms', { a: 'b' }),
  invalid_settings_distinct_attribute: setting('distinct-attribute', ['a']),
  invalid_settings_proximity_precision: setting('proximity-precision', 'byword'),
  invalid_settings_typo_tolerance: setting('typo-tolerance', { enabled: 1 }, 'PATCH'),
  invalid_settings_faceting: setting('faceting', { maxValuesPerFacet: -1 }, 'PATCH'),
  invalid_settings_pagination: setting('pagination', { maxTotalHits: 0 }, 'PATCH'),
  invalid_settings_search_cutoff_ms: setting('search-cutoff-ms', '50'),
  invalid_settings_embedders: setting('embedders', { e: { source: 'nobody' } }, 'PATCH'),
  invalid_settings_localized_attributes: setting('localized-attributes', [{ locales: ['jpn'] }]),
  invalid_settings_facet_search: setting('facet-search', 'no'),
  invalid_settings_prefix_search: setting('prefix-search', 'Disabled'),
  invalid_settings_attribute_weights: setting('attribute-weights', { title: 0 }),
  invalid_settings_matching_strategy: setting('matching-strategy', 'Any'),
  invalid_settings_pinyin: setting('pinyin', 'yes'),
  invalid_settings_rerankers: setting('rerankers', { m: { source: 'other' } }, 'PATCH'),
  invalid_settings_compounds: setting('compounds', ['eng']),
  invalid_settings_stemming: setting('stemming', ['jpn']),
  invalid_settings_stop_word_lists: setting('stop-word-lists', ['tha']),
  invalid_settings_index_chat: setting('chat', { x: 1 }, 'PATCH'),

  invalid_dynamic_search_rule_offset: rules({ offset: -1 }),
  invalid_dynamic_search_rule_limit: rules({ limit: 'x' }),
  invalid_dynamic_search_rule_show_target: rules({ showTarget: 1 }),
  invalid_dynamic_search_rule_filter: rules({ filter: 1 }),
  invalid_dynamic_search_rule_filter_query: rules({ filter: { query: 1 } }),
  invalid_dynamic_search_rule_filter_active: rules({ filter: { active: 'x' } }),
  invalid_dynamic_search_rule_description: rule({ description: 1 }),
  invalid_dynamic_search_rule_priority: rule({ precedence: -1 }),
  invalid_dynamic_search_rule_active: rule({ active: 'yes' }),
  invalid_dynamic_search_rule_conditions: rule({ conditions: [] }),
  invalid_dynamic_search_rule_actions: rule({ actions: { hide: [] } }),

  invalid_network_self: network({ self: 1 }),
  invalid_network_remotes: network({ remotes: [] }),
  invalid_network_shards: network({ shards: 1 }),
  invalid_network_leader: network({ leader: {} }),
  invalid_network_url: east({ url: 'e' }),
  invalid_network_search_api_key: east({ searchApiKey: 1 }),
  invalid_network_write_api_key: east({ writeApiKey: [] }),

  invalid_chat_completion_org_id: chat({ orgId: 1 }),
  invalid_chat_completion_project_id: chat({ projectId: 1 }),
  invalid_chat_completion_api_version: chat({ apiVersion: 1 }),
  invalid_chat_completion_deployment_id: chat({ deploymentId: 1 }),
  invalid_chat_completion_base_api: chat({ baseUrl: 1 }),
  invalid_chat_completion_api_key: chat({ apiKey: 1 }),
  invalid_chat_completion_system_prompt: prompt('system'),
  invalid_chat_completion_search_description_prompt: prompt('searchDescription'),
  invalid_chat_completion_search_query_param_prompt: prompt('searchQParam'),
  invalid_chat_completion_search_filter_param_prompt: prompt('searchFilterParam'),
  invalid_chat_completion_search_index_uid_param_prompt: prompt('searchIndexUidParam'),
}

const FAMILY =
  /^invalid_(search|facet_search|similar|multi_search|settings|dynamic_search_rule|network|chat_completion)_/

/** Codes without a request that causes them. */
const unused: Readonly<Record<string, string>> = {
  invalid_facet_search_name: 'only imported tasks have it',
  invalid_multi_search_facets: 'only imported tasks have it',
  invalid_multi_search_federated: 'only imported tasks have it',
  invalid_chat_completion_source: 'only imported tasks have it',
  invalid_chat_completion_prompts: 'only imported tasks have it',
  invalid_chat_completion_pre_query_prompt: 'only imported tasks have it',
  invalid_search_media: '`media` is any JSON, and no parameter of a query string',
}

test('every code about searches, settings, rules, the network and chats has a request that causes it', (t) => {
  const missing = Object.keys(codes).filter(
    (code) => FAMILY.test(code) && !(code in refused) && !(code in unused),
  )
  t.deepEqual(missing, [])
})

test('each mistake is refused with its own code and changes nothing', async (t) => {
  const server = await startServer(t, {
    features: ['network', 'dynamicSearchRules', 'multimodal', 'foreignKeys', 'chatCompletions'],
  })
  const settings = {
    searchableAttributes: ['title'],
    filterableAttributes: ['genre'],
    sortableAttributes: ['rank'],
    embedders: { e: { source: 'userProvided', dimensions: 1 } },
  }
  const films = [{ id: 1, title: 'Solaris', genre: 'drama', year: 1972, _vectors: { e: [1] } }]
  const orders = { faceting: { sortFacetValuesBy: { '*': 'count' } }, facetSearch: false }
  await server.settle(t, server.patch('/indexes/films/settings', settings))
  await server.settle(t, server.post('/indexes/films/documents', films))
  await server.settle(
    t,
    server.patch('/indexes/books/settings', { filterableAttributes: ['genre'], ...orders }),
  )
  await server.settle(t, server.post('/indexes/books/documents', films))
  const before = (await server.get('/tasks')).body.total
  for (const [code, [method, path, body]] of Object.entries(refused)) {
    const answer = await server.request(method, path, { body })
    checkError(t, answer, codes[code as ErrorCode].status, code, `${method} ${path} ${JSON.stringify(body)}`)
  }
  t.is((await server.get('/tasks')).body.total, before)
  t.is((await server.get('/network')).body.version, '00000000-0000-0000-0000-000000000000')
})

test('a filter that does not parse is refused with the position of its mistake', async (t) => {
  const server = await startServer(t)
  await server.settle(
    t,
    server.patch('/indexes/films/settings', { filterableAttributes: ['genre', 'größe'] }),
  )
  for (const [filter, place] of [
    ['genre =', '8:8 genre ='],
    ['genre = a AND', '14:14 genre = a AND'],
    ['genre = a b', '11:12 genre = a b'],
    ['größe = ä AND AND', '15:18 größe = ä AND AND'],
    ['(genre = a', '11:11 (genre = a'],
    ['(genre = a OR genre = b c)', '25:26 (genre = a OR genre = b c)'],
    ['genre = a AND year > 3', '15:19 genre = a AND year > 3'],
  ] as const) {
    const { body } = await server.post('/indexes/films/search', { filter })
    t.is(body.code, 'invalid_search_filter', filter)
    t.true(body.message.endsWith(place), `${filter}: ${body.message}`)
  }
})
