/** Timeout of a call in milliseconds. A settings body of megabytes or a slow search takes a fraction of it. */
export const CALL_MS_MAX = 60_000

/** Default limit of an answer in bytes. Settings with a hundred thousand synonyms take ten megabytes. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Attempts of a repeatable call. Their pauses add up to about a minute, enough for a server restart. */
export const ATTEMPTS_MAX = 10
export const PAUSE_FIRST_MS = 200
export const PAUSE_LAST_MS = 20_000

/** Milliseconds between two polls of a task: short at first, since small tasks take milliseconds. */
export const TASK_POLL_FIRST_MS = 10
export const TASK_POLL_LAST_MS = 500

/** Milliseconds for which a server may wait for the end of a task before it answers. */
export const TASK_WAIT_MS = 10_000

/** Longer error messages of the other instance are cut, in characters. */
export const MESSAGE_CHARS_MAX = 400

/** Limits of JSON in answers. Settings with a hundred thousand synonyms have a million values. */
export const answerJsonLimits = { depthMax: 140, valuesMax: 5_000_000 }

/**
 * Most entries and bytes of a list, all pages together. An instance has at most thousands of indexes, keys and rules.
 */
export const LIST_ENTRIES_MAX = 100_000
export const LIST_BYTES_MAX = 64 * 1024 * 1024

/** Entries per page of a list. */
export const PAGE_ENTRIES = 1_000

/**
 * Target size of a page of documents in bytes. Larger pages gain nothing, since an engine indexes several uploads in
 * one commit. A parsed page takes about ten times its bytes in memory.
 */
export const PAGE_BYTES_AIM = 8 * 1024 * 1024
/** Documents of the first page, before their size is known, and of any page at most. */
export const PAGE_DOCUMENTS_FIRST = 100
export const PAGE_DOCUMENTS_MAX = 5_000
/** Largest growth factor between two pages. */
export const PAGE_GROWTH_MAX = 4

/** Longest page in bytes. A longer one is requested again with half of its documents. */
export const PAGE_BYTES_MAX = 256 * 1024 * 1024
/** Timeout of a page in milliseconds. */
export const PAGE_MS_MAX = 300_000
/** Limits of JSON in a page: the depth of a document plus the surrounding list. */
export const pageJsonLimits = { depthMax: 140, valuesMax: 20_000_000 }
