/** Milliseconds of one call. A settings body of megabytes or a slow search takes a fraction of it. */
export const CALL_MS_MAX = 60_000

/** Bytes of an answer unless a call says otherwise. Settings with a hundred thousand synonyms take ten megabytes. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Attempts of a call that does no harm when repeated. Their pauses add up to about a minute: a restart of a server. */
export const ATTEMPTS_MAX = 10
export const PAUSE_FIRST_MS = 200
export const PAUSE_LAST_MS = 20_000

/** Milliseconds between two looks at a task: short at first, since small tasks take milliseconds. */
export const TASK_POLL_FIRST_MS = 10
export const TASK_POLL_LAST_MS = 500

/** Characters of an error message of the other instance that are shown. */
export const MESSAGE_CHARS_MAX = 400

/** Entries of a list that are asked for at a time. */
export const PAGE_ENTRIES = 1_000
