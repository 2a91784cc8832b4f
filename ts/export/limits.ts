/** Documents read at a time. */
export const PAGE_DOCUMENTS = 1_000

/** Bytes of one request unless a task says otherwise: the default limit of a body less some room. */
export const PAYLOAD_BYTES_MAX = 100_000_000 - 1024 * 1024

/** How long one request may take. Source: the API. */
export const REQUEST_MS_MAX = 5_000

/** The same for a request that carries documents: a large payload takes its time on a slow line. */
export const UPLOAD_MS_MAX = 120_000

/** Attempts of one request, with pauses that add up to about two minutes. */
export const ATTEMPTS_MAX = 12
export const PAUSE_FIRST_MS = 100
export const PAUSE_LAST_MS = 20_000

/** Bytes of an answer that are read: a task summary is short. */
export const ANSWER_BYTES_MAX = 65_536
