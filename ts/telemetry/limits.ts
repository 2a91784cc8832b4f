/** Levels of nested facts that are logged. */
export const FACT_LEVELS_MAX = 6

/** Bytes of lines waiting to be written. Enough if the reader is a few seconds behind a busy log. */
export const UNWRITTEN_BYTES_MAX = 1024 * 1024

/** Bytes of one write. A pipe holds 64 KiB. */
export const WRITE_BYTES_MAX = 64 * 1024

/** Milliseconds before a failed write is repeated. */
export const RETRY_MS = 200

/** Milliseconds that shutdown waits for the last lines to be written. */
export const LAST_LINES_MS = 500
