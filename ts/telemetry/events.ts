/**
 * The counted usage events, and how the observations of each metric are combined. Events and metrics have their
 * published names. No metric identifies a user, an address or the content of a document. The name of a primary key is
 * published only if a request sets it, as the list of metrics says.
 *
 * any: true if one observation was true · sum, max, average: of numbers · union: all words · last: the newest value ·
 * lastSet: the newest value that is not null
 */
type Kind = 'any' | 'sum' | 'max' | 'average' | 'union' | 'last' | 'lastSet'

interface Counted {
  readonly name: string
  readonly metrics: Readonly<Record<string, Kind>>
}

/** Metrics without meaning for similar documents: such a search has no words, facets or sort. */
const omittedBySimilar = [
  'sort.',
  'distinct',
  'formatting.',
  'facets.',
  'q.',
  'hybrid.',
  'matching_',
  'attributes_',
  'locales',
  'rerank.',
  'personalize.',
]

/** Searches of one index. `omits`: prefixes of the metrics without meaning for this kind of search. */
export const searchEvents = {
  search: { name: 'Documents Searched POST', omits: ['facets.total_', 'facets.additional_'] },
  searchByGet: { name: 'Documents Searched GET', omits: ['facets.total_', 'facets.additional_'] },
  facetSearch: {
    name: 'Facet Searched POST',
    omits: [
      ...['sort.', 'distinct', 'formatting.', 'facets.avg_', 'pagination.', 'scoring.show_'],
      ...['rerank.', 'personalize.'],
    ],
  },
  similar: { name: 'Similar POST', omits: omittedBySimilar },
  similarByGet: { name: 'Similar GET', omits: omittedBySimilar },
} as const satisfies Readonly<Record<string, { readonly name: string; readonly omits: readonly string[] }>>

const upload = { payload_type: 'union', primary_key: 'lastSet', index_creation: 'any' } as const
const fetched = {
  per_document_id: 'any',
  per_filter: 'any',
  with_vector_filter: 'any',
  sort: 'any',
  'vector.retrieve_vectors': 'any',
  'pagination.max_limit': 'max',
  'pagination.max_offset': 'max',
} as const
const primaryKey = { primary_key: 'lastSet' } as const
const taskFilters = {
  per_task_uid: 'any',
  filtered_by_uid: 'any',
  filtered_by_index_uid: 'any',
  filtered_by_type: 'any',
  filtered_by_status: 'any',
  filtered_by_canceled_by: 'any',
  filtered_by_before_enqueued_at: 'any',
  filtered_by_after_enqueued_at: 'any',
  filtered_by_before_started_at: 'any',
  filtered_by_after_started_at: 'any',
  filtered_by_before_finished_at: 'any',
  filtered_by_after_finished_at: 'any',
} as const
/** For events that only publish the number of requests. */
const none = {} as const

/** All other counted requests. */
export const usageEvents = {
  multiSearch: {
    name: 'Documents Searched by Multi-Search POST',
    metrics: {
      'requests.total_succeeded': 'sum',
      'requests.total_failed': 'sum',
      'requests.total_received': 'sum',
      'searches.avg_search_count': 'average',
      'searches.total_search_count': 'sum',
      'indexes.avg_distinct_index_count': 'average',
      'indexes.total_distinct_index_count': 'sum',
      'indexes.total_single_index': 'sum',
      'remotes.avg_distinct_remote_count': 'average',
      'remotes.total_distinct_remote_count': 'sum',
      'scoring.show_ranking_score': 'any',
      'scoring.show_ranking_score_details': 'any',
      'federation.use_federation': 'any',
      'rerank.total_number_of_uses': 'sum',
    },
  },
  documentsAdded: { name: 'Documents Added', metrics: upload },
  documentsUpdated: { name: 'Documents Updated', metrics: upload },
  documentsFetched: { name: 'Documents Fetched POST', metrics: fetched },
  documentsFetchedByGet: { name: 'Documents Fetched GET', metrics: fetched },
  documentsDeleted: {
    name: 'Documents Deleted',
    metrics: { per_document_id: 'any', clear_all: 'any', per_batch: 'any', per_filter: 'any' },
  },
  documentsEdited: {
    name: 'Documents Edited By Function',
    metrics: { filtered: 'any', with_context: 'any', index_creation: 'any' },
  },
  indexCreated: { name: 'Index Created', metrics: primaryKey },
  indexUpdated: { name: 'Index Updated', metrics: primaryKey },
  indexesSwapped: {
    name: 'Indexes Swapped',
    metrics: { swap_operation_number: 'sum', rename_used: 'any' },
  },
  settingsUpdated: {
    name: 'Settings Updated',
    metrics: {
      'ranking_rules.words_position': 'last',
      'ranking_rules.typo_position': 'last',
      'ranking_rules.proximity_position': 'last',
      'ranking_rules.attribute_position': 'last',
      'ranking_rules.attribute_rank_position': 'last',
      'ranking_rules.attribute_position_position': 'last',
      'ranking_rules.sort_position': 'last',
      'ranking_rules.exactness_position': 'last',
      'ranking_rules.values': 'last',
      'sortable_attributes.total': 'last',
      'sortable_attributes.has_geo': 'last',
      'filterable_attributes.total': 'last',
      'filterable_attributes.has_geo': 'last',
      'filterable_attributes.has_patterns': 'last',
      'searchable_attributes.total': 'last',
      'searchable_attributes.with_wildcard': 'last',
      'displayed_attributes.total': 'last',
      'displayed_attributes.with_wildcard': 'last',
      'typo_tolerance.enabled': 'last',
      'typo_tolerance.disable_on_attributes': 'last',
      'typo_tolerance.disable_on_words': 'last',
      'typo_tolerance.min_word_size_for_typos.one_typo': 'last',
      'typo_tolerance.min_word_size_for_typos.two_typos': 'last',
      'pagination.max_total_hits': 'last',
      'faceting.max_values_per_facet': 'last',
      'faceting.sort_facet_values_by_star_count': 'last',
      'faceting.sort_facet_values_by_total': 'last',
      'distinct_attribute.set': 'any',
      'proximity_precision.set': 'any',
      'proximity_precision.value': 'last',
      'facet_search.set': 'any',
      'facet_search.value': 'last',
      'prefix_search.set': 'any',
      'prefix_search.value': 'last',
      'stop_words.total': 'last',
      'separator_tokens.total': 'last',
      'non_separator_tokens.total': 'last',
      'dictionary.total': 'last',
      'synonyms.total': 'last',
      locales: 'union',
      'embedders.total': 'last',
      'embedders.sources': 'union',
      'embedders.document_template_used': 'last',
      'embedders.document_template_max_bytes': 'last',
      'embedders.binary_quantization_used': 'last',
    },
  },
  statsSeen: { name: 'Stats Seen', metrics: { per_index_uid: 'any' } },
  tasksSeen: { name: 'Tasks Seen', metrics: taskFilters },
  tasksCanceled: { name: 'Tasks Canceled', metrics: taskFilters },
  tasksDeleted: { name: 'Tasks Deleted', metrics: taskFilters },
  featuresUpdated: {
    name: 'Experimental features Updated',
    metrics: {
      metrics: 'any',
      logs_route: 'any',
      edit_documents_by_function: 'any',
      contains_filter: 'any',
      dynamic_search_rules: 'any',
      network: 'any',
      get_task_documents_route: 'any',
      task_queue_compaction_route: 'any',
      composite_embedders: 'any',
      chat_completions: 'any',
      multimodal: 'any',
      foreign_keys: 'any',
      disable_documents_fetch_queue: 'any',
      legacy_search: 'any',
      render_route: 'any',
      tasks_streaming_route: 'any',
    },
  },
  networkUpdated: { name: 'Network Updated', metrics: { network_has_self: 'any', network_size: 'max' } },
  webhooksCreated: { name: 'Webhooks Created', metrics: { webhooks_created: 'sum' } },
  webhooksUpdated: { name: 'Webhooks Updated', metrics: { 'webhooks.updated': 'sum' } },
  exported: {
    name: 'Export Triggered',
    metrics: {
      'export.total_received': 'sum',
      'export.has_api_key': 'any',
      'export.avg_index_patterns': 'average',
      'export.avg_patterns_with_filter': 'average',
      'export.avg_patterns_with_override_settings': 'average',
      'export.avg_payload_size': 'average',
    },
  },
  indexCompacted: { name: 'Index Compacted', metrics: none },
  dumpCreated: { name: 'Dump Created', metrics: none },
  snapshotCreated: { name: 'Snapshot Created', metrics: none },
  documentsRendered: { name: 'Documents Rendered', metrics: none },
  chatSettingsUpdated: { name: 'Chat Settings Updated', metrics: { source: 'union' } },
  chatCompleted: {
    name: 'Chat Completion POST',
    metrics: {
      'requests.total_received': 'sum',
      'requests.total_succeeded': 'sum',
      'requests.total_streamed': 'sum',
      'searches.total_search_count': 'sum',
      'tokens.total_count': 'sum',
      source: 'union',
    },
  },
  searchRulesChanged: { name: 'Dynamic Search Rules Created or Updated', metrics: none },
  searchRulesDeleted: { name: 'Dynamic Search Rules Deleted', metrics: none },
} as const satisfies Readonly<Record<string, Counted>>

/** Kind of metric → type of its observations. */
interface Observed {
  readonly any: boolean | null
  readonly sum: number
  readonly max: number
  readonly average: number
  readonly union: readonly string[]
  readonly last: boolean | number | string | null
  readonly lastSet: boolean | number | string | null
}

export type SearchEvent = keyof typeof searchEvents
export type UsageEvent = keyof typeof usageEvents

type MetricsOf<E extends UsageEvent> = (typeof usageEvents)[E]['metrics']

/** Observations of one request by metric. undefined and null: not observed, except that null is a value of `last`. */
export type Facts<E extends UsageEvent> = {
  readonly [M in keyof MetricsOf<E>]?: MetricsOf<E>[M] extends Kind
    ? Observed[MetricsOf<E>[M]] | undefined
    : never
}
