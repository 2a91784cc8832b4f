/** Embedders of an index. Their internal ids are one byte, and zero means no embedder. */
export const EMBEDDERS_MAX = 255

/** Components of a vector. The files of both engines have 32 bits for their number. */
export const DIMENSIONS_MAX = 2 ** 32 - 1

/** Fragments of an embedder, for documents and for searches separately. Their numbers are one byte in both engines. */
export const FRAGMENTS_MAX = 255

/** Foreign keys of an index. Hits are processed once per key. */
export const FOREIGN_KEYS_MAX = 100

/** Headers of the requests of an embedder: as many as for a webhook. Error messages are searched for each. */
export const HEADERS_MAX = 200

/** Rerankers of an index. */
export const RERANKERS_MAX = 20
/** Bytes of one document for a reranker. Longer texts do not fit into the models. */
export const RERANK_DOCUMENT_BYTES_MAX = 16_384
/** Longest time of a reranker, in milliseconds. The client waits for it. */
export const RERANK_TIMEOUT_MS_MAX = 30_000

/** Characters of a template. Measured: parsing this many takes at most 50 ms. */
export const TEMPLATE_CHARS_MAX = 50_000

/** Templates of a fragment. Measured: parsing the largest allowed fragment takes at most 50 ms. */
export const FRAGMENT_TEMPLATES_MAX = 1_000
/** Characters of all templates of a fragment together. */
export const FRAGMENT_CHARS_MAX = 50_000

/**
 * Memory of a rendering in addition to its output, in characters; each list member counts as one more character.
 * Measured: the longest range of numbers within it takes 77 MB and 0.1 s.
 */
export const RENDER_MEMORY_MAX = 5_000_000

/**
 * Comparisons of a text search that cost one character. In the worst case, a search compares each pair of positions.
 * Measured: a pattern of 300,000 characters in a million took three minutes.
 */
export const SEARCH_STEPS_PER_UNIT = 16

/** Characters of settings up to which they are processed on the main thread. Measured: this many take a millisecond. */
export const INLINE_SETTINGS_CHARS_MAX = 65_536

/** Milliseconds without a call after which the settings thread ends. A restart takes 0.1 s. */
export const THREAD_IDLE_MS_MAX = 2_000

/**
 * Megabytes of V8's young generation in that thread. With the default of 48, garbage fills all of it before a
 * collection.
 */
export const THREAD_YOUNG_MB_MAX = 12

/** Largest weight of an attribute. Scores of the rule `relevance` stay within 32 bits. */
export const ATTRIBUTE_WEIGHT_MAX = 100
