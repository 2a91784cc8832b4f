/** Embedders of one index. Their internal ids are one byte, and zero means none. */
export const EMBEDDERS_MAX = 255

/** Fragments of one embedder for documents, and for searches. Their numbers are one byte in both engines. */
export const FRAGMENTS_MAX = 255

/** Foreign keys of one index. Hits are gone through once for each. */
export const FOREIGN_KEYS_MAX = 100

/** Headers of the requests of one embedder, as many as a webhook can have. Each is searched for in error messages. */
export const HEADERS_MAX = 200

/** Characters of one template. Measured: parsing as many takes at most 50 ms. */
export const TEMPLATE_CHARS_MAX = 50_000

/** Templates of one fragment. Measured: parsing as many of as many characters as allowed takes at most 50 ms. */
export const FRAGMENT_TEMPLATES_MAX = 1_000
/** Characters of all templates of one fragment together. */
export const FRAGMENT_CHARS_MAX = 50_000

/**
 * Memory of one rendering beside its output, in characters; a member of a list counts as one character more. Measured:
 * the longest range of numbers within it takes 77 MB and 0.1 s.
 */
export const RENDER_MEMORY_MAX = 5_000_000

/**
 * Comparisons of a text search that count as much as one character. At worst, a search compares each pair of positions.
 * Measured: a pattern of 300,000 characters in a million took three minutes.
 */
export const SEARCH_STEPS_PER_UNIT = 16

/** Characters of settings that are processed on the main thread. Measured: as many take a millisecond. */
export const INLINE_SETTINGS_CHARS_MAX = 65_536

/** Milliseconds without a call after which the thread of settings ends. Starting it again takes 0.1 s. */
export const THREAD_IDLE_MS_MAX = 2_000

/**
 * Megabytes of V8's young generation in that thread. With the default of 48, garbage fills all of it before a
 * collection.
 */
export const THREAD_YOUNG_MB_MAX = 12
