/** Tasks of one batch unless a launch option sets a lower limit. */
export { BATCHED_TASKS_MAX } from '../launch/index.js'

/** Batches that run at the same time. While a batch waits for an embedder, it counts only towards the second limit. */
export const WORKING_BATCHES_MAX = 8
export const RUNNING_BATCHES_MAX = 64

/** Waiting tasks checked individually for a batch that can begin, before the oldest task of each index is read. */
export const OLDEST_READ = 100
/** Waiting swaps and renames read for the same search. */
export const BARRIERS_READ = 1_000

/** Uploaded bytes of one batch unless a launch option sets another limit. Source: the API's default. */
export const BATCHED_BYTES_MAX = 10 * 1024 ** 3

/**
 * Bytes of the stored contents of one batch. A batch is read at once, and a task may have 100 MB of ids.
 * `BATCHED_TASKS_MAX` short uploads stay below.
 */
export const BATCHED_CONTENT_BYTES_MAX = 100_000_000

/** Largest size of the task store. Source: the API's table of capacities. */
export const STORE_BYTES_MAX = 20 * 1024 ** 3

/** Share of `STORE_BYTES_MAX` above which new tasks are refused. Source: the API's table of capacities. */
export const STORE_SHARE_FOR_TASKS = 0.4

/**
 * At this number of tasks the oldest finished ones are deleted, `CLEANED_TASKS_MAX` at a time. Source: the API's table
 * of capacities.
 */
export const STORED_TASKS_MAX = 1_000_000
export const CLEANED_TASKS_MAX = 100_000

/** First and longest retry delay of the scheduler after a failure that no task caused. Each delay doubles. */
export const RETRY_FIRST_MS = 250
export const RETRY_LAST_MS = 10_000

/** Deleted tasks kept until each webhook has received them. Above this number the oldest are dropped. */
export const WEBHOOK_BACKLOG_TASKS_MAX = 100_000

/**
 * Uploads up to this size are stored in the task store, where one sync makes many of them durable. A batch of
 * `BATCHED_TASKS_MAX` of these uploads takes 40 MB of memory.
 */
export const INLINE_PAYLOAD_BYTES_MAX = 4 * 1024

/** Indexes whose sizes on disk are cached. A batch reports by how much it changed them. */
export const DATABASE_SIZES_REMEMBERED = 1_000

/**
 * Batch uids from here on mark commits made by the import of a dump, which have no tasks. Batches of a queue never
 * reach this number, and numbers up to twice as large are exact in a double.
 */
export const RESTORED_BATCH_UIDS = 2 ** 52

/**
 * Most bytes of a task's content or details in a record of a bucket's log, which has 64 MiB. The rest is for what the
 * end of the task adds, and for parts of index files.
 */
export const SENT_TASK_BYTES_MAX = 40 * 1024 ** 2

/** Bytes per read when computing the checksum of an upload. Each read blocks the main thread for 0.2 ms. */
export const CHECKSUM_READ_BYTES = 1024 * 1024

/** Most rows in one page of a listing. 10,000 rows block the main thread for 0.1 s. */
export const PAGE_ROWS_MAX = 10_000
/**
 * Most bytes of `details` in one page, not counting its first row. Settings with a dictionary of 100,000 words include
 * it in the details of their task. A megabyte of details blocks the main thread for 30 ms.
 */
export const PAGE_DETAILS_BYTES_MAX = 4_000_000
/** Minimum length at which `details` are returned without being parsed. Parsing this many takes a millisecond. */
export const PARSED_DETAILS_CHARS_MAX = 65_536
/**
 * Most characters of settings in one batch, not counting its first task. The engine receives the complete settings of
 * each task.
 */
export const BATCHED_SETTINGS_CHARS_MAX = 8_000_000
/**
 * Most characters of the filters that a batch joins in its details; a longer first filter is kept. A batch has up to
 * `BATCHED_TASKS_MAX` filters of megabytes, and texts of JavaScript have at most 512 M characters.
 */
export const JOINED_FILTERS_CHARS_MAX = 1_000_000
/** Details shorter than this do not count towards `PAGE_DETAILS_BYTES_MAX`. A page of them stays near 10 MB. */
export const COUNTED_DETAILS_BYTES_MIN = 1_000

/** Longest delay that a Node.js timer supports. */
export const TIMER_MS_MAX = 2 ** 31 - 1

/** Pending tasks about rules that the target state considers. Source: the API's page on version 1.57. */
export const PENDING_RULE_TASKS_MAX = 1000

/** Waiting tasks whose contents are read at once. */
export const PENDING_TASKS_READ = 100
/** Tasks that a cancelation reads at once. */
export const CANCELED_TASKS_READ = 1_000
