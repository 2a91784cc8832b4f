/** Tasks of one batch unless a launch option says less. */
export { BATCHED_TASKS_MAX } from '../launch/index.js'

/** Batches that run at the same time. Those that wait for an embedder count towards the second bound alone. */
export const WORKING_BATCHES_MAX = 8
export const RUNNING_BATCHES_MAX = 64

/** Waiting tasks that are looked at one by one for a batch that can begin, before the oldest of each index. */
export const OLDEST_READ = 100
/** Waiting swaps and renames that are read for that. */
export const BARRIERS_READ = 1_000

/** Uploaded bytes of one batch unless a launch option says otherwise. Source: the API's default ceiling. */
export const BATCHED_BYTES_MAX = 10 * 1024 ** 3

/**
 * Pages in the task store's write-ahead log that start a checkpoint. Source: SQLite's default of `wal_autocheckpoint`.
 */
export const LOG_FRAMES_MAX = 1_000

/** How often the owner of a data directory says that it is alive. */
export const HEARTBEAT_MS = 1_000

/** How long a start waits for the owner of a data directory to end: a killed process still has to free its memory. */
export const LEAVING_OWNER_WATCH_MS = 1_000
export const LEAVING_OWNER_POLL_MS = 20

/** How long the lock of another host is watched for a heartbeat before it is taken over. */
export const FOREIGN_LOCK_WATCH_MS = 3_500

/** Disk space held in reserve, for recording outcomes, canceling and deleting once the disk is full. */
export const RESERVE_BYTES = 2 * 1024 ** 2

/** Largest size of the task store. Source: the API's table of capacities. */
export const STORE_BYTES_MAX = 20 * 1024 ** 3

/** The part of `STORE_BYTES_MAX` beyond which new tasks are refused. Source: the API's table of capacities. */
export const STORE_SHARE_FOR_TASKS = 0.4

/**
 * A store with this many tasks has its oldest finished ones deleted, `CLEANED_TASKS_MAX` at a time. Source: the API's
 * table of capacities.
 */
export const STORED_TASKS_MAX = 1_000_000
export const CLEANED_TASKS_MAX = 100_000

/** Pauses of the scheduler after a failure that no task caused; each is twice the one before, up to the last. */
export const RETRY_FIRST_MS = 250
export const RETRY_LAST_MS = 10_000

/** Deleted tasks that are stored until each webhook was told of them. Beyond this number the oldest are dropped. */
export const WEBHOOK_BACKLOG_TASKS_MAX = 100_000

/**
 * Uploads up to this size lie in the task store, where one sync makes many of them durable. A batch of
 * `BATCHED_TASKS_MAX` such uploads takes 40 MB of memory.
 */
export const INLINE_PAYLOAD_BYTES_MAX = 4 * 1024

/** Indexes whose sizes on disk are cached, so that a batch can show by how much it changed them. */
export const DATABASE_SIZES_REMEMBERED = 1_000

/**
 * Batch uids from here on stand in commits that the import of a dump made; no task belongs to them. Batches of a queue
 * never reach this number, and numbers up to twice as large are exact in a double.
 */
export const RESTORED_BATCH_UIDS = 2 ** 52

/** Bytes read at a time for the checksum of an upload; each read takes the main thread 0.2 ms. */
export const CHECKSUM_READ_BYTES = 1024 * 1024

/** Most rows in one page of a listing: 10,000 take the main thread a tenth of a second. */
export const PAGE_ROWS_MAX = 10_000
/**
 * Most bytes of `details` in one page, beside those of its first row. Settings with a dictionary of a hundred thousand
 * words show it in the details of their task; a megabyte of details takes the main thread 30 ms.
 */
export const PAGE_DETAILS_BYTES_MAX = 4_000_000
/** Characters from which on `details` are shown without being parsed: parsing so many takes a millisecond. */
export const PARSED_DETAILS_CHARS_MAX = 65_536
/**
 * Most characters of complete settings in one batch, beside those of its first task: the engine gets the settings of
 * each task whole.
 */
export const BATCHED_SETTINGS_CHARS_MAX = 8_000_000
/** Details shorter than this are not counted towards `PAGE_DETAILS_BYTES_MAX`: a page of them stays near 10 MB. */
export const COUNTED_DETAILS_BYTES_MIN = 1_000

/** The longest time that a timer of Node.js can measure. */
export const TIMER_MS_MAX = 2 ** 31 - 1

/** Tasks that wait whose contents are read at a time. */
export const PENDING_TASKS_READ = 100
