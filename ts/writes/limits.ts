/**
 * Pairs of one request to swap indexes. Each pair renames its indexes in all older tasks that name them. An older swap
 * task is rewritten as a whole each time, so that the time grows with the product of the lengths of both swaps.
 */
export const SWAPS_MAX = 1_000

/** Patterns that say which indexes are exported. Each index is compared with each pattern until one fits. */
export const EXPORT_PATTERNS_MAX = 10_000
