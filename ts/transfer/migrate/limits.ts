/** Milliseconds within which an upload must be answered. */
export const UPLOAD_MS_MAX = 300_000

/** Most uploads that are accepted but not indexed. Limits the repeated work after an interruption. */
export const UPLOADS_WAITING_MAX = 4
