/** How much is too much? Source of all: search §3.3–§5.4 and documents §4.2. */

/** A word of more bytes is not indexed, and matches nothing in a query. */
export const WORD_BYTES_MAX = 250
/** Positions of a field are below this. */
export const POSITIONS_MAX = 65_536
/** Fields with more stored words have no counted length. */
export const LENGTH_COUNTED_MAX = 30
/** Words and phrases of a query that are used. */
export const QUERY_TERMS_MAX = 10
export const QUERY_TOKENS_MAX = 1000
/** Completions of a prefix, without the short-prefix path. */
export const PREFIX_WORDS_MAX = 1000
export const ONE_TYPO_WORDS_MAX = 150
export const TWO_TYPO_WORDS_MAX = 50
/** Synonyms of one term, and their words. */
export const SYNONYMS_MAX = 50
export const SYNONYM_WORDS_MAX = 100
/** What may stand for a term, as far as an explanation lists it, and the places of each in a document. */
export const SPELLINGS_MAX = 50
export const PLACES_MAX = 20
/** Hits among which an explanation looks for its document. */
export const EXPLAINED_HITS_MAX = 1000
/** A prefix of up to this many bytes, shared by this many words, is completed by all of them. */
export const SHORT_PREFIX_BYTES_MAX = 4
export const SHORT_PREFIX_WORDS_MIN = 100
/** Fields, values and numbers of a filter. Each takes some 100 bytes, however short it is written. */
export const FILTER_TEXTS_MAX = 100_000
/** Its brackets, commas and signs: a point of a polygon has two numbers and four of them. */
export const FILTER_SYMBOLS_MAX = 4 * FILTER_TEXTS_MAX
/** Characters of a filter that messages repeat. */
export const FILTER_SHOWN_CHARS_MAX = 2000
/** Documents of which one filter may read the elements of a field, some 30 µs for each. */
export const ELEMENT_DOCUMENTS_MAX = 100_000
/** Documents of one other index that the filters of a request may select. Source: the reference. */
export const FOREIGN_SELECTED_MAX = 100
/** Distinct documents of other indexes that one answer may show. */
export const FOREIGN_SHOWN_MAX = 10_000
/** Distinct field names of one index, dotted paths included. */
export const FIELDS_MAX = 65_535
/** Bytes of a document id. */
export const ID_BYTES_MAX = 511
/** When no setting says otherwise. */
export const SEARCH_CUTOFF_MS = 1500
/** Vectors of one document under one embedder. Source: vectors §4; a count of them fits a byte. */
export const VECTORS_MAX = 255

/** Documents of one page of what has to be embedded. Source: requests of 10 texts, 40 of them at once. */
export const WORK_ITEMS_MAX = 400
/** Bytes of documents in one page; a single document may be longer. */
export const WORK_BYTES_MAX = 8 * 1024 * 1024

/**
 * Milliseconds that one filter of a request may take. Half a filter would give wrong hits, so that the request fails; twice
 * the time of a search, since ten thousand values in `IN` or in equalities take a tenth of a second.
 */
export const FILTER_MS_MAX = 3000

/** A thread that ended is not followed by another before so many milliseconds have passed since its start. */
export const RESTART_PAUSE_MS = 1000
