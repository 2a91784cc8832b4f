/** Sessions that clients without tickets may resume. Source: the service's option table. */
export const SESSIONS_MAX = 256

/** Seconds during which a session may be resumed. */
export const SESSION_SECONDS = 300

/** Milliseconds from a connection to the end of its handshake. */
export const HANDSHAKE_MS_MAX = 30_000

/** Requests that one HTTP/2 connection may have under way, as in nginx. */
export const STREAMS_MAX = 128

/** Milliseconds after which an idle connection is closed, as for plain HTTP. */
export const IDLE_MS_MAX = 72_000

/** Milliseconds between two looks at the files. A change counts once two looks in a row have seen the same. */
export const WATCH_MS = 2_000

/** Milliseconds that the requests of an idle HTTP/2 connection may still take. */
export const CLOSING_MS_MAX = 3_600_000
