/** Redirects that one call follows. The Fetch standard allows 20; services need one or two. */
export const REDIRECTS_MAX = 5

/**
 * Milliseconds for resolving a name and establishing a connection, within the time of its call. Source: the first
 * packet is sent again after one second, so that one may get lost.
 */
export const CONNECT_TIMEOUT_MS = 2_000

/** Milliseconds that an idle connection stays open for the next call to the same origin. */
export const IDLE_CONNECTION_MS = 10_000

/** Connections to one origin at a time. Source: an embedder sends up to 40 requests at a time. */
export const CONNECTIONS_PER_ORIGIN_MAX = 40

/** Bytes of an answer that is parsed without a pause. Parsing as many takes less than a millisecond. */
export const SHORT_ANSWER_BYTES_MAX = 65_536
