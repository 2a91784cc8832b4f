/** Limits of the package API. */

/** Longest timer of Node, in milliseconds. */
export const TIMER_MS_MAX = 2 ** 31 - 1
