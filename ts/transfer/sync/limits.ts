/** Rows of the first page of a copy, when the size of documents is still unknown, and most rows of any page. */
export const COPY_ROWS_FIRST = 100
export const COPY_ROWS_MAX = 10_000
/** Target size of a page in bytes. Larger pages gain nothing and take memory. */
export const COPY_BYTES_AIM = 1024 * 1024
/** Pages per copy that were sent but are not indexed yet. The target indexes waiting pages in one commit. */
export const COPY_PAGES_WAITING_MAX = 24
/** Milliseconds between two writes of the progress of a copy. */
export const COPY_PROGRESS_MS = 5_000

/** Timeout of an upload in milliseconds. */
export const UPLOAD_MS_MAX = 300_000

/** Milliseconds between two writes of the progress if no rows changed. */
export const IDLE_PROGRESS_MS = 30_000
/** Milliseconds between two writes of the progress while rows change. */
export const BUSY_PROGRESS_MS = 5_000
/** Milliseconds between two checks of the slot. */
export const SLOT_WATCH_MS = 10_000
/** Milliseconds for which a slot exceeds its limit before it is removed. */
export const DROP_AFTER_MS = 60_000
/** Milliseconds between two checks of tables and requests of commands. */
export const WATCH_MS = 2_000

/** Milliseconds until a copy is repeated after it failed because documents could not be read. */
export const BROKEN_COPY_MS = 60_000

/** Pauses after a failure of the target or the database, in milliseconds. */
export const PAUSE_FIRST_MS = 200
export const PAUSE_LAST_MS = 30_000

/** Slot size that is logged as an alarm, in bytes. */
export const ALARM_BYTES = 1024 * 1024 * 1024

/** Characters of a refused document that its dead letter contains. */
export const DEAD_DOCUMENT_CHARS_MAX = 100_000
/** Dead letters that are removed when their document succeeds. */
export const DEAD_LETTERS_KNOWN_MAX = 10_000

/** Document ids that one call deletes or lists. */
export const IDS_MAX = 5_000

/** Bytes of a document id that the API accepts. */
export const ID_BYTES_MAX = 511

/** Bytes of a configuration file. */
export const CONFIG_BYTES_MAX = 4 * 1024 * 1024
