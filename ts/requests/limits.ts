/** How much may one search ask for? */

/** Bytes of a highlight tag or of the crop marker. An answer repeats both for every match. */
export const MARK_BYTES_MAX = 1_024

/**
 * Names in one list of a search: attributes to retrieve, crop, highlight or search, facets, or criteria of a sort. Each
 * name is compared with the fields of every hit.
 */
export const NAMES_MAX = 1_000

/**
 * Bytes of one answer that holds documents: of a search, of several, or of a list of documents. 1,000 hits of 60 KB
 * fit. The answer is held in memory as a whole.
 */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Searches in one request. Each has a time budget of its own, and all together take one turn of the search queue. */
export const QUERIES_MAX = 1_000
