/** Characters of rows in one entry, unless a single row has more. */
export const ENTRY_CHANGES_CHARS = 4 * 2 ** 20

/** Bytes of a part of a compressed task store, at least, except for the last one. */
export const IMAGE_PART_BYTES = 8 * 2 ** 20

/** Longest base that is not compressed: it names each part of each file, a few hundred bytes for each. */
export const BASE_BYTES_MAX = 64 * 2 ** 20

/** Longest compressed base, and longest content of one. Strings of Node.js have at most 512 MiB. */
export const PACKED_BASE_BYTES_MAX = 128 * 2 ** 20
export const BASE_CONTENT_BYTES_MAX = 480 * 2 ** 20

/** Bytes of short parts that a base moves into one object, at least, except for the last one. */
export const MOVED_BYTES = 16 * 2 ** 20

/** Bytes of a part of an upload, at least, except for the last one. */
export const UPLOAD_PART_BYTES = 8 * 2 ** 20

/** Bytes from which uploads count as large, and how many of these are sent at the same time before their tasks are stored. */
export const LARGE_UPLOAD_BYTES = 2 ** 20
export const LARGE_UPLOADS_MAX = 4

/** Bytes of short parts of files that are kept in memory, so that their entries are not read again. */
export const INLINE_KEPT_BYTES = 64 * 2 ** 20

/** Bytes of entries that a copy takes together, at least one entry. */
export const ROUND_BYTES = 16 * 2 ** 20

/** Entries, and bytes of entries and files, after which a base is made. */
export const BASE_ENTRIES = 10_000
export const BASE_BYTES = 64 * 2 ** 20

/**
 * Milliseconds of reading the entries behind the newest base after which the next one is made, estimated from how long the
 * store takes for a call. Fewer entries than this many make none.
 */
export const REPLAY_MS = 2_000
export const REPLAY_ENTRIES_MIN = 200

/** A base is made no sooner than reading the entries takes this part of the time that the last base took to be made. */
export const REPLAY_PART = 10

/** Longest time of a call that counts for the estimate: longer ones are outages. */
export const REPLAY_CALL_MS_MAX = 1_000

/** Milliseconds after which an idle writer looks whether another one has taken over. */
export const LOOK_MS = 2_000

/** Milliseconds between two looks of a writer that appends for servers that ask it to yield. */
export const YIELD_LOOK_MS = 1_000

/** Milliseconds for which a writer that was asked to yield goes on sending what it has, and then appends nothing. */
export const YIELD_DRAIN_MS = 1_000
export const YIELD_MS = 3_000

/** Milliseconds between two looks of a writer that yields. */
export const YIELDING_LOOK_MS = 250

/** Milliseconds without the end of the log after which a writer does not count as confirmed. */
export const CONFIRMED_MS = 10_000

/** Milliseconds between two looks whether the bucket is away, while a client waits for it. */
export const WAITING_LOOK_MS = 1_000

/** Milliseconds between two lines of the log about a bucket that does not answer. */
export const TOLD_MS = 30_000

/** Bytes of new files of a commit from which they are sent before the outcome of its batch is recorded. */
export const AHEAD_BYTES = 2 ** 20

/** Milliseconds for which an object has to be of no use before it is removed: a day. */
export const GARBAGE_AGE_MS = 24 * 3_600_000

/** Milliseconds between two looks for garbage. */
export const GARBAGE_EVERY_MS = 3_600_000

/** Longest fence: longer entries are known to be none without a look into them. */
export const FENCE_BYTES_MAX = 4_096

/** Objects that are deleted at the same time. */
export const GARBAGE_DELETES = 8

/** Milliseconds without any answer of the bucket after which writes that need it are refused. */
export const AWAY_MS = 10_000

/** Milliseconds after which a base is tried again that could not be made. */
export const BASE_RETRY_MS = 60_000

/** Milliseconds after a commit was sent in which merges and graphs of it are made, which are sent then. */
export const SETTLED_MS = 5_000

/** Milliseconds between two tries after a failure. */
export const FAILED_MS = 1_000

/** Milliseconds for which a stop goes on sending what waits. */
export const LAST_SENDING_MS = 5_000

/** Milliseconds between two looks of a follower for bases that have passed it over. */
export const BASES_LOOK_MS = 30_000
