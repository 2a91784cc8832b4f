/**
 * The metrics of use, and how the observations of each become one figure. The names are given by the list of metrics
 * that the service has to report. No metric identifies a user, an address or the content of a document. The name of a
 * primary key is reported only if a request sets it, as that list says.
 *
 * any: whether one observation was true · sum, max, average: of numbers · p99: the highest among the fastest 99 % ·
 * most: the most frequent word · union: all words · last: the newest value
 */
export const usageMetrics = {
  user_agent: 'union',
  payload_type: 'union',
  primary_key: 'last',
  index_creation: 'any',
  swap_operation_number: 'sum',
  network: 'any',
  network_has_self: 'any',
  network_size: 'max',
  multimodal: 'any',
  'requests.99th_response_time': 'p99',
  'requests.total_succeeded': 'sum',
  'requests.total_failed': 'sum',
  'requests.total_received': 'sum',
  'requests.total_degraded': 'sum',
  'requests.total_used_negative_operator': 'sum',
  'sort.with_geoPoint': 'any',
  'sort.avg_criteria_number': 'average',
  'filter.with_geoBoundingBox': 'any',
  'filter.with_geoRadius': 'any',
  'filter.on_vectors': 'any',
  'filter.most_used_syntax': 'most',
  'q.max_terms_number': 'max',
  'pagination.max_limit': 'max',
  'pagination.max_offset': 'max',
  'pagination.most_used_navigation': 'most',
  'formatting.max_attributes_to_retrieve': 'max',
  'formatting.max_attributes_to_highlight': 'max',
  'formatting.max_attributes_to_crop': 'max',
  'formatting.highlight_pre_tag': 'any',
  'formatting.highlight_post_tag': 'any',
  'formatting.crop_length': 'any',
  'formatting.crop_marker': 'any',
  'formatting.show_matches_position': 'any',
  'facets.avg_facets_number': 'average',
  'facets.total_distinct_facet_count': 'sum',
  'facets.additional_search_parameters_provided': 'any',
  'scoring.show_ranking_score': 'any',
  'scoring.show_ranking_score_details': 'any',
  'scoring.ranking_score_threshold': 'any',
  'attributes_to_search_on.total_number_of_uses': 'sum',
  'matching_strategy.most_used_strategy': 'most',
  'searches.avg_search_count': 'average',
  'searches.total_search_count': 'sum',
  'indexes.avg_distinct_index_count': 'average',
  'indexes.total_distinct_index_count': 'sum',
  'indexes.total_single_index': 'sum',
  'federation.use_federation': 'any',
  'remotes.total_distinct_remote_count': 'sum',
  'remotes.avg_distinct_remote_count': 'average',
  locales: 'union',
  'vector.max_vector_size': 'max',
  'vector.retrieve_vectors': 'any',
  'hybrid.enabled': 'any',
  'hybrid.semantic_ratio': 'any',
  'hybrid.total_media': 'sum',
  distinct: 'any',
  with_vector_filter: 'any',
  per_document_id: 'any',
  per_filter: 'any',
  clear_all: 'any',
  per_batch: 'any',
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
  per_index_uid: 'any',
  webhooks_created: 'sum',
  'webhooks.updated': 'sum',
  'export.total_received': 'sum',
  'export.has_api_key': 'any',
  'export.avg_index_patterns': 'average',
  'export.avg_patterns_with_filter': 'average',
  'export.avg_payload_size': 'average',
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
  'distinct_attribute.set': 'last',
  'proximity_precision.set': 'last',
  'proximity_precision.value': 'last',
  'facet_search.set': 'last',
  'facet_search.value': 'last',
  'prefix_search.set': 'last',
  'prefix_search.value': 'last',
  'stop_words.total': 'last',
  'separator_tokens.total': 'last',
  'non_separator_tokens.total': 'last',
  'dictionary.total': 'last',
  'synonyms.total': 'last',
  'embedders.total': 'last',
  'embedders.sources': 'union',
  'embedders.document_template_used': 'last',
  'embedders.document_template_max_bytes': 'last',
  'embedders.binary_quantization_used': 'last',
} as const satisfies Readonly<Record<string, keyof Observed>>

/** The type of an observation, by how observations become one figure. */
interface Observed {
  readonly any: boolean
  readonly sum: number
  readonly max: number
  readonly average: number
  /** Milliseconds. */
  readonly p99: number
  readonly most: string
  readonly union: readonly string[]
  readonly last: boolean | number | string | null
}

export type MetricName = keyof typeof usageMetrics

/** Observations of one request by metric. */
export type Facts = {
  readonly [M in MetricName]?: Observed[(typeof usageMetrics)[M]] | undefined
}

/** Kinds of requests, each counted separately. */
export type UsageEvent =
  | 'search'
  | 'searchByGet'
  | 'multiSearch'
  | 'facetSearch'
  | 'similar'
  | 'similarByGet'
  | 'documentsAdded'
  | 'documentsUpdated'
  | 'documentsFetched'
  | 'documentsFetchedByGet'
  | 'documentsDeleted'
  | 'documentsEdited'
  | 'indexCreated'
  | 'indexUpdated'
  | 'indexesSwapped'
  | 'settingsUpdated'
  | 'statsSeen'
  | 'tasksSeen'
  | 'featuresUpdated'
  | 'networkUpdated'
  | 'webhooksChanged'
  | 'exported'
