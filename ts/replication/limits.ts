/** Most characters of rows in a log record. A single longer row gets a record of its own. */
export const RECORD_CHANGES_CHARS = 4 * 2 ** 20

/** Minimum bytes of a part of a compressed task store, except for the last part. */
export const IMAGE_PART_BYTES = 8 * 2 ** 20

/** Longest checkpoint that is stored uncompressed. It has a few hundred bytes for each part of each file. */
export const CHECKPOINT_BYTES_MAX = 64 * 2 ** 20

/** Longest compressed checkpoint, and its longest content. Strings of Node.js have at most 512 MiB. */
export const COMPRESSED_CHECKPOINT_BYTES_MAX = 128 * 2 ** 20
export const CHECKPOINT_CONTENT_BYTES_MAX = 480 * 2 ** 20

/** Minimum bytes of inline parts that a checkpoint moves into one object, except for the last object. */
export const MOVED_BYTES = 16 * 2 ** 20

/** Minimum bytes of a part of an upload, except for the last part. */
export const UPLOAD_PART_BYTES = 8 * 2 ** 20

/** Uploads above this size are large. At most this many large ones are sent at a time before their tasks are stored. */
export const LARGE_UPLOAD_BYTES = 2 ** 20
export const LARGE_UPLOADS_MAX = 4

/** Bytes of cached inline parts. The cache avoids reading their log records again. */
export const INLINE_KEPT_BYTES = 64 * 2 ** 20

/** Bytes of log records that a start keeps in memory, since it may have to read them twice. */
export const START_RECORDS_BYTES = 32 * 2 ** 20

/** Bytes of log records that a copy applies together. It applies at least one record. */
export const ROUND_BYTES = 16 * 2 ** 20

/** Log records, and bytes of records and files, after which a checkpoint is made. */
export const CHECKPOINT_RECORDS = 10_000
export const CHECKPOINT_BYTES = 64 * 2 ** 20

/**
 * Estimated milliseconds of reading the records after the newest checkpoint, from which the next one is made. The
 * estimate uses the mean duration of calls. Fewer records than `REPLAY_RECORDS_MIN` never cause a checkpoint this way.
 */
export const REPLAY_MS = 1_000
export const REPLAY_RECORDS_MIN = 200

/** A checkpoint is not made before reading the records takes 1/REPLAY_PART of the time of the last checkpoint. */
export const REPLAY_PART = 10

/** Calls count for the estimate with at most this time. Longer calls are outages. */
export const REPLAY_CALL_MS_MAX = 1_000

/** Milliseconds after which an idle writer checks for a takeover. */
export const POLL_MS = 2_000

/** Milliseconds between two checks for yield requests while the writer appends. */
export const YIELD_POLL_MS = 1_000

/** After a yield request: milliseconds to send pending changes, then milliseconds without appends. */
export const YIELD_DRAIN_MS = 1_000
export const YIELD_MS = 3_000

/** Milliseconds between two checks for a takeover while the writer yields. */
export const YIELDING_POLL_MS = 250

/** Milliseconds for a handover, and between two checks of it. A container has ten seconds to stop. */
export const HANDOVER_MS = 5_000
export const HANDOVER_POLL_MS = 25

/** Milliseconds for which the leader holds a request for a hint, and in which its answer must arrive after that. */
export const HINT_WAIT_MS = 2_000
export const HINT_ANSWER_MS = 2_000

/** Milliseconds between a hint and the next request, which bounds their rate, and after a failed request. */
export const HINT_GAP_MS = 100
export const HINT_RETRY_MS = 2_000

/** Longest answer with a hint. */
export const HINT_BYTES_MAX = 4_096

/** Requests for hints that wait at a time. More are refused. */
export const WAITS_MAX = 1_000

/** Milliseconds between two polls of the log while hints work. */
export const HINTED_POLL_MS = 10_000

/** A follower is nudged to poll at most once in this many milliseconds. */
export const NUDGE_MS = 100

/** A writer is no longer confirmed this many milliseconds after it last reached the end of the log. */
export const CONFIRMED_MS = 10_000

/** Milliseconds between two checks of the reachability of the bucket while a client waits for it. */
export const AWAY_POLL_MS = 1_000

/** Milliseconds between two log lines about an unreachable bucket. */
export const AWAY_LOG_MS = 30_000

/** New files of a commit are sent before its batch is recorded if they have at least this many bytes. */
export const AHEAD_BYTES = 2 ** 20

/** Milliseconds for which an object must be unused before it is removed: a day. */
export const GARBAGE_AGE_MS = 24 * 3_600_000

/** Milliseconds between two garbage sweeps. */
export const GARBAGE_EVERY_MS = 3_600_000

/** Longest fence. Longer log records are not fences, so they need not be read to tell. */
export const FENCE_BYTES_MAX = 4_096

/** Objects that are deleted at the same time. */
export const GARBAGE_DELETES = 8

/** Writes that need the bucket are refused after this many milliseconds without an answer. */
export const AWAY_MS = 10_000

/** Milliseconds until a failed checkpoint is retried. */
export const CHECKPOINT_RETRY_MS = 60_000

/** Files of background merges and vector graphs are sent this many milliseconds after their commit was sent. */
export const SETTLED_MS = 5_000

/** Milliseconds until a retry after a failure. */
export const FAILED_MS = 1_000

/** Milliseconds for which a shutdown still sends pending changes. */
export const LAST_SENDING_MS = 5_000

/** Milliseconds between two times that a follower stores which of its index files are verified. */
export const REMEMBER_MS = 60_000

/** Milliseconds between two checks of a follower for checkpoints newer than its position. */
export const CHECKPOINTS_POLL_MS = 30_000
