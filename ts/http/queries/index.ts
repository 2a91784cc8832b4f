/** Logs slow searches and counts frequent queries. */
export {
  type AskedQuery,
  type EndedSearch,
  QueryWatch,
  type QueryWatchOptions,
  showsFirst,
} from './query-watch.js'
