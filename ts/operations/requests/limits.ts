/** Limits of a single search. */

/** Bytes of a highlight tag or of the crop marker. An answer repeats both for every match. */
export const MARK_BYTES_MAX = 1_024

/**
 * Names in one list of a search: attributes to retrieve, crop, highlight or search, facets, or sort criteria. Each name
 * is compared with the fields of every hit.
 */
export const NAMES_MAX = 1_000

/**
 * Bytes of an answer with documents: of a search, of several, or of a list of documents. 1,000 hits of 60 KB fit. The
 * complete answer is held in memory.
 */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Searches in one request. Each has its own time budget, but all together take a single slot of the search queue. */
export const QUERIES_MAX = 1_000

/** Hits that a reranker ranks in one search. Services accept about a thousand documents. */
export const RERANK_TOP_K_MAX = 1_000

/** Hits that rerankers rank for all queries of a request: ten times the most of one, or 200 queries by default. */
export const RERANKED_HITS_MAX = 10_000

/** Bytes of the `userContext` of a personalized search, which is sent to a service. */
export const USER_CONTEXT_BYTES_MAX = 16_384
