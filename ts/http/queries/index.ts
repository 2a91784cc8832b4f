/** Logs slow searches and counts frequent queries. */
export type { CountedSearch, QueryStatistics } from './query-statistics.js'
export {
  type AskedQuery,
  type EndedSearch,
  QueryWatch,
  type QueryWatchOptions,
  showsFirst,
} from './query-watch.js'
