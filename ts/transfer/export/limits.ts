/** Margin in bytes below the body limit, unless the task sets a payload size. Source: the API. */
export const PAYLOAD_MARGIN_BYTES = 1024 * 1024

/** Minimum payload size in bytes, unless the task sets one. Source: the API. */
export const PAYLOAD_BYTES_MIN = 20 * 1024 * 1024

/** Timeout of a request in milliseconds. Source: the API. */
export const REQUEST_MS_MAX = 5_000

/** Timeout in milliseconds of a request with documents, which may be large. */
export const UPLOAD_MS_MAX = 120_000

/** Attempts of a request. Their pauses add up to about two minutes. */
export const ATTEMPTS_MAX = 12
export const PAUSE_FIRST_MS = 100
export const PAUSE_LAST_MS = 20_000

/** Longest answer in bytes. The expected answer is a short task summary. */
export const ANSWER_BYTES_MAX = 65_536
