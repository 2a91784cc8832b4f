/** How much may one search ask for? */

/** Bytes of a highlight tag and of the crop marker, which an answer repeats for every match. */
export const MARK_BYTES_MAX = 1_024

/**
 * Names in one list of a search: attributes to retrieve, to crop, to highlight or to search, facets, criteria of a
 * sort. Each is compared with the fields of every hit.
 */
export const NAMES_MAX = 1_000

/**
 * Bytes of one answer made of documents: a search, several, a listing. A thousand hits of 60 KB fit, and answers are
 * held in memory as a whole.
 */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Searches of one request. Each has its own time, and all of them one turn of the queue. */
export const QUERIES_MAX = 1_000
