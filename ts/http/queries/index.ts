/** Logs slow searches and counts frequent queries. */
export { CLICK_POSITION_MAX } from './limits.js'
export { QueryHistory } from './query-history.js'
export type { CountedSearch, QueryStatistics } from './query-statistics.js'
export { type AskedQuery, QueryWatch, type QueryWatchOptions, showsFirst } from './query-watch.js'
