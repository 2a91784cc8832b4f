import type { JsonLimits } from '../../operations/index.js'

/** Attempts of one call to a remote. Source: the API's three retries. */
export const REMOTE_ATTEMPTS_MAX = 4

/** Longest pause between attempts, in milliseconds. Source: the API's retries, as above. */
export const REMOTE_PAUSE_MS_MAX = 100

/** A connection that failed after longer than this many milliseconds is not retried: the host is probably down. */
export const UNREACHABLE_RETRIED_MS_MAX = 1_000

/** Longest header with rights. Source: Node.js accepts 16 KiB of headers. */
export const RIGHTS_HEADER_BYTES_MAX = 8_192

/** Milliseconds that a remote has to report its health. Otherwise it is shown as unavailable. */
export const REMOTE_STATE_MS_MAX = 1_000

/** Characters of a failed answer that an error message quotes. */
export const QUOTED_CHARS_MAX = 500

/**
 * Limits of the answer of a remote. A document may be 128 levels deep, plus some levels of the answer around it. The
 * number of values suffices for 10,000 hits of 50 values.
 */
export const REMOTE_ANSWER: JsonLimits = { depthMax: 136, valuesMax: 500_000 }

/** Lower bounds of the share of each of many remotes: a page of twenty hits, each of 10 KB and 200 values. */
export const SHARE_BYTES_MIN = 262_144
export const SHARE_VALUES_MIN = 5_000

/** A longer answer with another shape is not retried: reading it may take a hundred megabytes of memory. */
export const ANSWER_RETRIED_BYTES_MAX = 65_536
