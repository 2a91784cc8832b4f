/** Milliseconds that a cell has to answer its part of a list. */
export const PART_MS_MAX = 15_000

/** Longest part of a list that a cell sends, in bytes. */
export const PART_BYTES_MAX = 32 * 1024 * 1024

/** Indexes that an error message names. */
export const QUOTED_MAX = 5

/** Milliseconds for which a failed address of a cell is tried after the others. */
export const FAILED_MS = 30_000

/**
 * Milliseconds until a read is sent to the next address of a cell. The last address has the limit of all requests that are
 * passed on.
 */
export const NEXT_MS = 5_000

/** Milliseconds between two comparisons of the keys of a cell with those of the home cell. */
export const KEYS_MS = 10_000

/** Keys that are read from the home cell at a time. */
export const KEYS_PAGE = 1_000
