/** Characters of a query, and of a filter, in a line of the log. */
export const LOGGED_TEXT_CHARS_MAX = 1000
/** Queries of one request that are logged. */
export const LOGGED_QUERIES_MAX = 10

/** Queries of each list that `GET /stats/queries` answers with. */
export const SHOWN_QUERIES_MAX = 50
/**
 * Queries that are counted for each list. When there are twice as many, those that count least are forgotten, so that a
 * new query costs little more than a frequent one.
 */
export const COUNTED_QUERIES_MAX = 1000
/** Characters of a counted query. Longer ones that begin alike count as one. */
export const COUNTED_TEXT_CHARS_MAX = 200
