/** Redirects per call. The Fetch standard allows 20; services need one or two. */
export const REDIRECTS_MAX = 5

/**
 * Milliseconds for resolving a name and connecting, within the time of the call. Source: the first packet is sent again
 * after one second, so one packet may get lost.
 */
export const CONNECT_TIMEOUT_MS = 2_000

/** Milliseconds that an idle connection stays open for the next call to the same origin. */
export const IDLE_CONNECTION_MS = 10_000

/**
 * Concurrent connections per origin. Source: an embedder sends up to 40 concurrent requests, and each of up to 100 chats
 * holds a connection.
 */
export const CONNECTIONS_PER_ORIGIN_MAX = 140

/** Largest answer in bytes that is parsed without a pause. It takes less than a millisecond. */
export const SHORT_ANSWER_BYTES_MAX = 65_536

/**
 * Milliseconds without a byte after which a request that was passed on has failed. Longer than a request may wait for the
 * end of a task, which is a minute.
 */
export const PASSED_SILENCE_MS = 90_000

/**
 * Slowest handling of the body of such a request, in bytes per millisecond, before the answer begins. Source: the slowest
 * accepted transfer to a bucket, for which the answer may wait.
 */
export const PASSED_BYTES_PER_MS_MIN = 64
