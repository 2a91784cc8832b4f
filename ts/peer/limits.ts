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

/** Milliseconds that a server is asked to wait for the end of a task before it answers. */
export const TASK_WAIT_MS = 10_000

/** Characters of an error message of the other instance that are shown. */
export const MESSAGE_CHARS_MAX = 400

/** JSON of an answer: settings with a hundred thousand synonyms have a million values. */
export const answerJsonLimits = { depthMax: 140, valuesMax: 5_000_000 }

/** Entries and bytes of a list in all its pages. An instance has thousands of indexes, keys and rules at most. */
export const LIST_ENTRIES_MAX = 100_000
export const LIST_BYTES_MAX = 64 * 1024 * 1024

/** Entries of a list that are asked for at a time. */
export const PAGE_ENTRIES = 1_000

/**
 * Bytes of a page of documents that its size is steered to. An engine takes several waiting uploads into one commit,
 * so that larger pages gain nothing, and a page in memory is parsed: about ten times its bytes.
 */
export const PAGE_BYTES_AIM = 8 * 1024 * 1024
/** Documents of the first page, whose sizes are not known yet, and of any page. */
export const PAGE_DOCUMENTS_FIRST = 100
export const PAGE_DOCUMENTS_MAX = 5_000
/** How much larger a page may be than the one before. */
export const PAGE_GROWTH_MAX = 4

/** Bytes of a page that is read. A larger one is asked for again with half of its documents. */
export const PAGE_BYTES_MAX = 256 * 1024 * 1024
/** Milliseconds in which a page has to be answered. */
export const PAGE_MS_MAX = 300_000
/** JSON of a page: as deep as a document may be, plus the list around it. */
export const pageJsonLimits = { depthMax: 140, valuesMax: 20_000_000 }
