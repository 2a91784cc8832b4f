/** Changed keys that wait for the target. Beyond them the connection is not read. */
export const PENDING_KEYS_MAX = 20_000
/** Keys that changes of a related table may touch in one batch. Beyond them all documents are copied again. */
export const RELATED_KEYS_MAX = 100_000

/** Milliseconds between two reports of the confirmed position. */
export const REPORT_MS = 5_000
/** Milliseconds without a message after which a connection counts as broken. Each report asks for a message. */
export const SILENCE_MS_MAX = 60_000

/** Pauses in milliseconds until a committed transaction is visible: usually none or one. */
export const VISIBLE_PAUSE_FIRST_MS = 2
export const VISIBLE_PAUSE_LAST_MS = 200
