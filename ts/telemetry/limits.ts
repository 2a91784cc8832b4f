/** Facts nested deeper than this are not written. */
export const FACT_LEVELS_MAX = 6

/** Bytes of lines that wait to be written. A reader that is a few seconds behind loses nothing of a busy log. */
export const UNWRITTEN_BYTES_MAX = 1024 * 1024

/** Bytes written at once; pipes take 64 KiB. */
export const WRITE_BYTES_MAX = 64 * 1024

/** Pause after a write that a full pipe, a full disk or a failing device did not take. */
export const RETRY_MS = 200

/** How long the end of the process waits for its last lines to be written. */
export const LAST_LINES_MS = 500
