/** Advice that follows an error message, so that an agent knows the next call. */
import type { ApiFault } from './api.js'

const byCode: Readonly<Record<string, string>> = {
  index_not_found: 'Call listIndexes for the uids that exist.',
  invalid_index_uid: 'Call listIndexes for the uids that exist.',
  invalid_api_key: 'The key does not allow this. Call listIndexes for the indexes that it may search.',
  invalid_search_filter:
    'Call describeIndex: `filterableAttributes` and `filterExamples` show filters that work.',
  invalid_search_sort: 'Call describeIndex: `sortExamples` show sorts that work.',
  invalid_search_facets: 'Call describeIndex: facets must be in `filterableAttributes`.',
  invalid_search_facet: 'Call describeIndex: facets must be in `filterableAttributes`.',
  invalid_search_attributes_to_search_on: 'Call describeIndex for `searchableAttributes`.',
  invalid_search_distinct: 'Call describeIndex: the attribute must be in `filterableAttributes`.',
  invalid_search_embedder: 'Call describeIndex for `embedders`; without any, leave `hybrid` out.',
  invalid_facet_search_facet_name: 'Call describeIndex: `facetName` must be in `filterableAttributes`.',
  invalid_document_filter: 'Call describeIndex: `filterExamples` show filters that work.',
  document_not_found: 'Find the id with searchInIndexes.',
  too_many_search_requests: 'Wait some seconds, then repeat the call.',
}

/** Returns the message of an error with advice. */
export function advised({ message, code }: ApiFault): string {
  const hint = byCode[code]
  return hint === undefined ? message : `${message}\n${hint}`
}
