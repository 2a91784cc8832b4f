/** Limits of the fallback engine. Source of all: search §3.3–§5.4 and documents §4.2. */

/** Longer words are not indexed, and match nothing in a query. */
export const WORD_BYTES_MAX = 250
/** Exclusive upper bound of positions in a field. */
export const POSITIONS_MAX = 65_536
/** Fields with more stored words have no length recorded. */
export const LENGTH_COUNTED_MAX = 30
/** Maximum number of words and phrases used from a query. */
export const QUERY_TERMS_MAX = 10
/** The same with the matching strategy `any`, which reads questions and paragraphs. */
export const ANY_TERMS_MAX = 32
export const QUERY_TOKENS_MAX = 1000
/** Other forms of a word, and of the words at one edit from it. */
export const FORMS_MAX = 50
/** Compounds with a word, and words examined for them on each side of it. */
export const COMPOUNDS_MAX = 50
export const COMPOUND_CANDIDATES_MAX = 500
/** Chinese words that are read as a query word, and words examined for them. */
export const PINYIN_WORDS_MAX = 200
export const PINYIN_CANDIDATES_MAX = 2000
/** Words read as the first half of a query word, and pairs of halves whose neighbours are counted. */
export const PINYIN_FIRST_HALVES_MAX = 50
export const PINYIN_PAIRS_MAX = 200
/** Maximum number of completions of a prefix, without short-prefix lists. */
export const PREFIX_WORDS_MAX = 1000
/** Completions of the second half of a word that is split in two. */
export const SPLIT_COMPLETIONS_MAX = 100
export const ONE_TYPO_WORDS_MAX = 150
export const TWO_TYPO_WORDS_MAX = 50
/** Maximum number of synonyms of a term, and of words of all of them. */
export const SYNONYMS_MAX = 50
export const SYNONYM_WORDS_MAX = 100
/** Derivations of a term that an explanation lists, and positions listed for each. */
export const SPELLINGS_MAX = 50
export const PLACES_MAX = 20
/** Number of hits that an explanation searches for its document. */
export const EXPLAINED_HITS_MAX = 1000
/** A prefix of at most this many bytes, shared by at least this many words, is completed by all of them. */
export const SHORT_PREFIX_BYTES_MAX = 4
export const SHORT_PREFIX_WORDS_MIN = 100
/** Maximum number of fields, values and numbers in a filter. Each takes about 100 bytes, however short its text. */
export const FILTER_TEXTS_MAX = 100_000
/** Maximum number of brackets, commas and signs in a filter: a point of a polygon has two numbers and four symbols. */
export const FILTER_SYMBOLS_MAX = 4 * FILTER_TEXTS_MAX
/** Characters of a filter that error messages quote. */
export const FILTER_SHOWN_CHARS_MAX = 2000
/** Documents whose elements a filter may read, about 30 µs each. */
export const ELEMENT_DOCUMENTS_MAX = 100_000
/** Documents of another index that the filters of a request may select. Source: Meilisearch. */
export const FOREIGN_SELECTED_MAX = 1000
/** Distinct documents of other indexes that an answer may show. */
export const FOREIGN_SHOWN_MAX = 10_000
/** Groups of documents of the same weight, each ranked separately. Actions that would make more are ignored. */
export const SCALED_PARTS_MAX = 100
/** Range of the total weight of documents that rules do not hide. Source: the API's page on version 1.57. */
export const TOTAL_WEIGHT_MIN = 1e-12
export const TOTAL_WEIGHT_MAX = 1e12
/** Distinct field names of one index, dotted paths included. */
export const FIELDS_MAX = 65_535
/** Bytes of a document id. */
export const ID_BYTES_MAX = 511
/** Default search cutoff. */
export const SEARCH_CUTOFF_MS = 1500
/** Vectors of a document for one embedder. Source: vectors §4; the count fits a byte. */
export const VECTORS_MAX = 255

/** Documents per page of documents to embed. Source: requests of 10 texts, 40 at a time. */
export const WORK_ITEMS_MAX = 400
/** Bytes of documents per page; a single document may exceed it. */
export const WORK_BYTES_MAX = 8 * 1024 * 1024

/**
 * Time limit for a filter, in milliseconds. A partly evaluated filter would give wrong hits, so the request fails.
 * Twice the time limit of a search, since ten thousand values in `IN` or in equalities take a tenth of a second.
 */
export const FILTER_MS_MAX = 3000

/** Minimum milliseconds between the start of a thread that ended and the start of the next. */
export const RESTART_PAUSE_MS = 1000
