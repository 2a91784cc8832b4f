/** Answers searches and other reads of an open instance. */
export {
  describedIndex,
  descriptionParameters,
  type IndexDescriptionWithExamples,
  type SearchableIndex,
  searchableIndex,
  searchableListParameters,
} from './describe.js'
export { DisconnectSignal } from './disconnect-signal.js'
export { documentFields, listedDocuments, type WantedDocuments } from './documents.js'
export { SEARCH_MS } from './embedding.js'
export {
  type Explanation,
  explain,
  explainFields,
  type JudgedClause,
  type Reason,
} from './explain.js'
export { facetSearch, facetSearchBody } from './facet-search.js'
export { covered, type FieldsPage, type FieldView, fieldsBody, listedFields } from './fields.js'
export * from './index-lookup.js'
export { DESCRIBED_INDEXES_MAX } from './limits.js'
export * from './multi-search/index.js'
export type { Reading } from './reading.js'
export { personalized } from './reordering/index.js'
export { RuleFilters } from './rule-filters.js'
export { search } from './search.js'
export { everyRight, type SearchAccess, type SearchServices } from './services.js'
export { similar, similarFields } from './similar.js'
