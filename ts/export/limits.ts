/** Bytes by which requests stay below the limit of a body, unless the task has a size. Source: the API. */
export const PAYLOAD_MARGIN_BYTES = 1024 * 1024

/** Bytes of documents in one request, at least, unless the task has a size. Source: the API. */
export const PAYLOAD_BYTES_MIN = 20 * 1024 * 1024

/** Milliseconds of one request. Source: the API. */
export const REQUEST_MS_MAX = 5_000

/** Milliseconds of a request with documents, which may be large and the connection slow. */
export const UPLOAD_MS_MAX = 120_000

/** Attempts of one request. Their pauses add up to about two minutes. */
export const ATTEMPTS_MAX = 12
export const PAUSE_FIRST_MS = 100
export const PAUSE_LAST_MS = 20_000

/** Bytes of an answer that are read. The expected answer is a short task summary. */
export const ANSWER_BYTES_MAX = 65_536
