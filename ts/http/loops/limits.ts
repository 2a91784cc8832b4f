/** Milliseconds before a thread that ended early is replaced: at first, and at most after repeated failures. */
export const RESTART_MS_MIN = 50
export const RESTART_MS_MAX = 5_000

/** Milliseconds in which a thread counts as one that ended early. */
export const EARLY_MS = 10_000

/** Milliseconds that a thread may take to end after its deadline. */
export const END_MS_MAX = 1_000

/** Bytes of the path of a socket: 104 on macOS and 108 on Linux, with a zero at the end. */
export const SOCKET_PATH_BYTES_MAX = 103

/** Bytes of a body up to which a thread answers the request itself. */
export const HOT_BODY_BYTES_MAX = 1_000_000

/** Milliseconds after which log lines and counts are sent to the main thread. */
export const OUTBOX_MS = 20
/** Entries after which they are sent at once. */
export const OUTBOX_ENTRIES_MAX = 500

/** Milliseconds between two looks for idle connections during shutdown. */
export const CLOSING_MS = 20

/** Idle connections to the main thread that each thread keeps. */
export const IDLE_CONNECTIONS_MAX = 256
