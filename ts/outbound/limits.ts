/** Redirects followed by one call. Source: what the Fetch standard allows is 20; services need one or two. */
export const REDIRECTS_MAX = 5

/** How long a connection may take to be made, within the time of its call. */
export const CONNECT_TIMEOUT_MS = 10_000

/** How long an idle connection is kept for the next call to the same place. */
export const IDLE_CONNECTION_MS = 10_000

/** Connections to one place at a time. Source: an embedder has up to 40 requests under way. */
export const CONNECTIONS_PER_ORIGIN_MAX = 40

/** An answer of at most this many bytes is read without a pause: reading it takes less than a millisecond. */
export const SHORT_ANSWER_BYTES_MAX = 65_536
