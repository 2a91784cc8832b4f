/** Follows each search from its authorization to its answer: log of slow searches, query statistics, usage reports. */
export { type SearchCount, searchCount } from './search-counts.js'
export { ObservedRoute, observeSearches, SearchObservation } from './search-observation.js'
