/** Number of sessions that clients without tickets may resume. Source: the service's option table. */
export const SESSIONS_MAX = 256

/** Seconds during which a session may be resumed. */
export const SESSION_SECONDS = 300

/** Milliseconds from a connection to the end of its handshake. */
export const HANDSHAKE_MS_MAX = 30_000

/** Concurrent requests of an HTTP/2 connection, as in nginx. */
export const STREAMS_MAX = 128

/** Milliseconds after which an idle connection is closed, as for plain HTTP. */
export const IDLE_MS_MAX = 72_000

/** Milliseconds between two polls of the files. A change counts when two successive polls have seen the same state. */
export const WATCH_MS = 2_000

/** Milliseconds that the requests of an idle HTTP/2 connection may still take. */
export const CLOSING_MS_MAX = 3_600_000
