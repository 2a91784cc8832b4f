/** Levels of nested facts that are written. */
export const FACT_LEVELS_MAX = 6

/** Bytes of lines that wait to be written. They suffice for a reader that is a few seconds behind a busy log. */
export const UNWRITTEN_BYTES_MAX = 1024 * 1024

/** Bytes of one write. A pipe holds 64 KiB. */
export const WRITE_BYTES_MAX = 64 * 1024

/** Milliseconds before a failed write is repeated. */
export const RETRY_MS = 200

/** Milliseconds that the end of the process waits for its last lines to be written. */
export const LAST_LINES_MS = 500
