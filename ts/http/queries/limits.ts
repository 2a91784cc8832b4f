/** Most characters of a query, and of a filter, in a log line. */
export const LOGGED_TEXT_CHARS_MAX = 1000
/** Most queries of one request in a log line. */
export const LOGGED_QUERIES_MAX = 10

/** Queries in each list of `GET /stats/queries`. */
export const SHOWN_QUERIES_MAX = 50
/**
 * Queries counted for each list. At twice this number the lowest-ranked half is forgotten, which keeps the cost of a
 * new query near that of a counted one.
 */
export const COUNTED_QUERIES_MAX = 1000
/** Characters of a counted query. Longer queries with the same beginning count as one. */
export const COUNTED_TEXT_CHARS_MAX = 200
/** Documents named in the statistics of a query: those clicked last. */
export const CLICKED_DOCUMENTS_MAX = 3
/** Largest position of a click. */
export const CLICK_POSITION_MAX = 1_000_000

/** Days whose queries are kept on disk. */
export const HISTORY_DAYS_MAX = 30
/** Bytes of the file of a day. At this size its least important queries are forgotten. */
export const HISTORY_DAY_BYTES_MAX = 512 * 1024
/** Milliseconds between two writes. A process that is killed loses the queries since the last one. */
export const HISTORY_FLUSH_MS = 1000
/** Different queries that wait for the next write. Further ones are counted in memory only. */
export const HISTORY_WAITING_MAX = 2 * COUNTED_QUERIES_MAX
