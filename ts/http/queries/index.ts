/** Here is a search that was answered: was it slow, and how often is its query asked? */
export {
  type AskedQuery,
  type Progress,
  QueryWatch,
  type QueryWatchOptions,
  showsFirst,
} from './query-watch.js'
