/** Milliseconds between two heartbeats of an idle leader, and between two reads of them by a candidate. */
export const HEARTBEAT_MS = 2_000

/** A candidate suspects a leader that gave no sign for this many milliseconds, in at least this many polls. */
export const SILENT_MS = 15_000
export const SILENT_POLLS_MIN = 5

/** Milliseconds that a candidate waits for each candidate before it in the order. */
export const RANK_MS = 2_000

/** Milliseconds between two announcements of a candidate. */
export const ANNOUNCE_MS = 30_000
/** Milliseconds after which an announcement no longer counts. */
export const ANNOUNCED_MS = 100_000

/** Milliseconds for the suspected leader to answer at its address. */
export const LEADER_ANSWER_MS = 2_000

/** Maximum size of a heartbeat or an announcement. */
export const SIGN_BYTES_MAX = 4_096

/** Maximum number of announcements that are read. */
export const CANDIDATES_MAX = 64
