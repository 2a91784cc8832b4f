/**
 * Pairs in a request to swap indexes. Each pair renames its indexes in all older tasks that contain them. An older swap
 * task is rewritten completely each time, so the time grows with the product of the lengths of both swaps.
 */
export const SWAPS_MAX = 1_000

/** Patterns of indexes to export. Each index is compared with each pattern until one fits. */
export const EXPORT_PATTERNS_MAX = 10_000
