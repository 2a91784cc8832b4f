import type { JsonLimits } from '../../requests/index.js'

/** Attempts of one call to a remote. Source: the API's three retries. */
export const REMOTE_ATTEMPTS_MAX = 4

/** Longest pause between attempts: a search is waiting. Source: as above. */
export const REMOTE_PAUSE_MS_MAX = 100

/** Characters of a failed answer that an error quotes. */
export const QUOTED_CHARS_MAX = 500

/**
 * The answer of a remote. Documents may be 128 levels deep, and lie in hits, which lie in the answer; the values are those
 * of ten thousand hits of fifty.
 */
export const REMOTE_ANSWER: JsonLimits = { depthMax: 136, valuesMax: 500_000 }

/** A longer answer that is no federated search is not asked for again: reading it may have taken a hundred megabytes. */
export const ANSWER_RETRIED_BYTES_MAX = 65_536
