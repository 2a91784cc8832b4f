/**
 * A checkpoint starts when the task store's write-ahead log has this many pages. Source: SQLite's default of
 * `wal_autocheckpoint`.
 */
export const LOG_FRAMES_MAX = 1_000

/** Interval at which the owner of a data directory renews its lock. */
export const HEARTBEAT_MS = 1_000

/** How long a start waits for the previous owner to exit. A killed process takes time to free its memory. */
export const LEAVING_OWNER_WATCH_MS = 1_000
export const LEAVING_OWNER_POLL_MS = 20

/** How long the lock of another host must lack a heartbeat before it is taken over. */
export const FOREIGN_LOCK_WATCH_MS = 3_500

/** Disk space held in reserve, so that outcomes, cancelations and deletions can be recorded when the disk is full. */
export const RESERVE_BYTES = 2 * 1024 ** 2
