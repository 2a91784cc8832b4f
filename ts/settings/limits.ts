/** Embedders of one index: internal ids are one byte, and zero means none. */
export const EMBEDDERS_MAX = 255

/** Fragments of one embedder, for documents and for searches: their numbers are one byte in both engines. */
export const FRAGMENTS_MAX = 255

/** Headers of the requests of one embedder, as many as a webhook has. What a provider says is searched for each. */
export const HEADERS_MAX = 200

/** Characters of one template: parsing this many takes 50 ms at worst. */
export const TEMPLATE_CHARS_MAX = 50_000

/**
 * What one rendering may make beside its output, in characters; a member of a list counts as one more. The longest range of
 * numbers that fits took 77 MB and a tenth of a second.
 */
export const RENDER_MEMORY_MAX = 5_000_000

/**
 * Comparisons that cost as much as a character. A search for a long pattern compares each pair of positions at worst: 300,000
 * in a million took three minutes.
 */
export const SEARCH_STEPS_PER_UNIT = 16

/** Settings of more characters are parsed, merged and written on a thread of their own: so many take a millisecond. */
export const INLINE_SETTINGS_CHARS_MAX = 65_536

/** Milliseconds without work after which that thread ends. Starting it again takes a tenth of a second. */
export const THREAD_IDLE_MS_MAX = 2_000

/** Megabytes for what that thread has just made; the platform's 48 fill up before anything is collected. */
export const THREAD_YOUNG_MB_MAX = 12
