/** Timeout of a call in milliseconds, plus the time that its bytes take at `BYTES_PER_MS_MIN`. */
export const CALL_MS = 20_000

/** Slowest accepted transfer in bytes per millisecond: 64 KiB a second. */
export const BYTES_PER_MS_MIN = 64

/** A call is late after this many milliseconds, plus the time that its bytes take. */
export const LATE_MS = 10_000

/** Milliseconds until a server that takes over repeats its yield request. */
export const YIELD_AGAIN_MS = 5_000

/** Longest yield request. */
export const YIELD_BYTES_MAX = 2 ** 10

/** Longest answer to a list request: 1,000 keys of at most 1,024 bytes, each with XML tags. */
export const LIST_BYTES_MAX = 4 * 2 ** 20

/** Longest error answer. */
export const ERROR_BYTES_MAX = 64 * 2 ** 10

/** Concurrent creates of one key in a round of the probe, number of rounds, and length of each object. */
export const PROBE_CREATES = 32
export const PROBE_ROUNDS = 4
export const PROBE_BYTES = 2 ** 10

/** Longest log record. */
export const RECORD_BYTES_MAX = 64 * 2 ** 20

/** Log records that are read at the same time, and about how many bytes they may have together. */
export const READ_AHEAD = 64
export const READ_AHEAD_BYTES = 16 * 2 ** 20

/** Longest inline part of a file. Longer parts are separate objects. */
export const INLINE_BYTES_MAX = 256 * 2 ** 10

/** Most bytes of inline parts in a log record. */
export const INLINE_SUM_BYTES_MAX = 8 * 2 ** 20

/** Longest part of a file. A part is held in memory while it is sent or fetched. */
export const PART_BYTES_MAX = 16 * 2 ** 20

/** Parts that are read at the same time, and their total bytes. A longer part is read alone. */
export const PARTS_AHEAD = 16
export const PARTS_AHEAD_BYTES = 32 * 2 ** 20

/** First and longest backoff in milliseconds before a call is retried. */
export const RETRY_MS_FIRST = 100
export const RETRY_MS_MAX = 10_000

/** Content bytes of a frame of an encrypted object. A read decrypts complete frames. */
export const FRAME_BYTES = 64 * 2 ** 10

/** Frames to encrypt or decrypt before yielding to the event loop: 4 MiB. */
export const FRAMES_IN_TURN = 64

/** Timeout in milliseconds of a credentials service, and of a metadata service, which may not exist. */
export const CREDENTIALS_MS = 20_000
export const METADATA_MS = 2_000

/** Longest answer with credentials. */
export const CREDENTIALS_BYTES_MAX = 64 * 2 ** 10

/** Milliseconds before expiry at which credentials are refreshed, and milliseconds between two attempts. */
export const REFRESH_BEFORE_MS = 5 * 60_000
export const REFRESH_PAUSE_MS = 10_000

/** Deepest nesting of XML elements. Lists have four levels; the cost of an element grows with its level. */
export const XML_DEPTH_MAX = 32
