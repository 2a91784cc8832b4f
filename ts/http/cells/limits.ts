/** Milliseconds that a cell has to answer its part of a list. */
export const PART_MS_MAX = 15_000

/** Longest part of a list that a cell sends, in bytes. */
export const PART_BYTES_MAX = 32 * 1024 * 1024

/** Indexes that an error message names. */
export const QUOTED_MAX = 5

/** Milliseconds for which a failed address of a cell is tried after the others. */
export const FAILED_MS = 5_000
