/** Milliseconds that a call waits for its whole answer, beside those that its bytes take. */
export const CALL_MS = 20_000

/** Slowest transfer that is waited for, in bytes a millisecond: 64 KiB a second. */
export const BYTES_PER_MS_MIN = 64

/** Milliseconds, beside those that its bytes take, after which a call is late. */
export const LATE_MS = 10_000

/** Milliseconds after which a server that takes over asks the writer once more to yield. */
export const YIELD_AGAIN_MS = 5_000

/** Longest request to yield that is read. */
export const YIELD_BYTES_MAX = 2 ** 10

/** Largest answer to a list of keys: 1,000 keys of at most 1,024 bytes, each with its tags. */
export const LIST_BYTES_MAX = 4 * 2 ** 20

/** Largest error that is read. */
export const ERROR_BYTES_MAX = 64 * 2 ** 10

/** Creates of one key at the same time in a round of the probe, rounds, and the length of each object. */
export const PROBE_CREATES = 32
export const PROBE_ROUNDS = 4
export const PROBE_BYTES = 2 ** 10

/** Longest entry of the log. */
export const ENTRY_BYTES_MAX = 64 * 2 ** 20

/** Entries that are read at the same time, and about how many bytes they may have together. */
export const READ_AHEAD = 32
export const READ_AHEAD_BYTES = 16 * 2 ** 20

/** Longest part of a file that goes into an entry of the log; longer ones are objects of their own. */
export const INLINE_BYTES_MAX = 256 * 2 ** 10

/** Bytes of all such parts in one entry. */
export const INLINE_SUM_BYTES_MAX = 8 * 2 ** 20

/** Longest part of a file: each is held in memory while it is sent or fetched. */
export const PART_BYTES_MAX = 16 * 2 ** 20

/** Parts of files that are read at the same time, and how many bytes they may have together, unless one has more. */
export const PARTS_AHEAD = 16
export const PARTS_AHEAD_BYTES = 32 * 2 ** 20

/** Milliseconds between two tries of a write that the store did not do: the first and the longest pause. */
export const RETRY_MS_FIRST = 100
export const RETRY_MS_MAX = 10_000

/** Content of a frame of an encrypted object: what has to be read to get at a single byte. */
export const FRAME_BYTES = 64 * 2 ** 10

/** Frames that are encrypted before the event loop has a turn: 4 MiB. */
export const FRAMES_IN_TURN = 64

/** Milliseconds that a service takes to give credentials, and one that may not exist. */
export const CREDENTIALS_MS = 20_000
export const METADATA_MS = 2_000

/** Longest answer with credentials. */
export const CREDENTIALS_BYTES_MAX = 64 * 2 ** 10

/** Milliseconds before the end of credentials at which new ones are asked for, and between two tries. */
export const REFRESH_BEFORE_MS = 5 * 60_000
export const REFRESH_PAUSE_MS = 10_000

/** Levels of elements in an answer. Lists have four; the cost of an element grows with its level. */
export const XML_DEPTH_MAX = 32
