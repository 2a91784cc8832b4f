/** Tasks of one batch unless a launch option says less: bounds what one commit has to remember. */
export const BATCHED_TASKS_MAX = 10_000

/** Uploaded bytes of one batch unless a launch option says otherwise. Source: the API's default ceiling. */
export const BATCHED_BYTES_MAX = 10 * 1024 ** 3

/** Pages in the task store's log from which on they are brought into its file. Source: SQLite's own default. */
export const LOG_FRAMES_MAX = 1_000

/** How often the owner of a data directory says that it is alive. */
export const HEARTBEAT_MS = 1_000

/** How long the owner of a data directory may take to go: one that was just killed still gives back its memory. */
export const LEAVING_OWNER_WATCH_MS = 1_000
export const LEAVING_OWNER_POLL_MS = 20

/** How long a lock of another host is watched before it counts as left behind. */
export const FOREIGN_LOCK_WATCH_MS = 3_500

/** Room on the disk kept for recording, cancelling and deleting once there is none for new tasks. */
export const RESERVE_BYTES = 2 * 1024 ** 2

/** Room for the task store. Source: the API's table of capacities. */
export const STORE_BYTES_MAX = 20 * 1024 ** 3

/** The part of it that new tasks may fill. Source: as above. */
export const STORE_SHARE_FOR_TASKS = 0.4

/** From so many stored tasks on, the oldest finished ones are deleted, so many at a time. Source: as above. */
export const STORED_TASKS_MAX = 1_000_000
export const CLEANED_TASKS_MAX = 100_000

/** Pauses of the scheduler after a failure that was nobody's task: doubled from the first to the last. */
export const RETRY_FIRST_MS = 250
export const RETRY_LAST_MS = 10_000

/** Deleted tasks kept because a webhook has not been told of them yet; beyond, the oldest are given up. */
export const WEBHOOK_BACKLOG_TASKS_MAX = 100_000

/**
 * Uploads up to this size lie in the task store, where one sync carries many of them. Small enough that a
 * batch of the most tasks fits in memory.
 */
export const INLINE_PAYLOAD_BYTES_MAX = 4 * 1024

/** Indexes whose sizes on disk are remembered, to tell how much a batch has changed them. */
export const DATABASE_SIZES_REMEMBERED = 1_000

/**
 * Batches of an engine from this uid on were made while an instance started from a dump: no task waits for
 * them. No queue ever gets there, and numbers up to twice as much are exact.
 */
export const RESTORED_BATCH_UIDS = 2 ** 52

/** Uploads are read in pieces of so many bytes while their checksum is made: 0.2 ms of the main thread each. */
export const CHECKSUM_READ_BYTES = 1024 * 1024

/** Rows of one page of a listing: 10,000 take a tenth of a second of the main thread. */
export const PAGE_ROWS_MAX = 10_000
/**
 * Bytes of details in one page, those of its first row aside: settings of a hundred thousand words show in the
 * details of their task, and a megabyte of them takes the main thread 30 ms.
 */
export const PAGE_DETAILS_BYTES_MAX = 4_000_000
/** Longer details are not parsed to be shown: so many take a millisecond. */
export const PARSED_DETAILS_CHARS_MAX = 65_536
/**
 * Characters of complete settings in one batch, those of its first settings aside: engines get them once for each task.
 */
export const BATCHED_SETTINGS_CHARS_MAX = 8_000_000
/** Shorter details do not count among those bytes; as many as a page may have are few. */
export const COUNTED_DETAILS_BYTES_MIN = 1_000
