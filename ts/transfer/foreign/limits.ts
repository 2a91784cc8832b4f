/** Longest document id in bytes. */
export const ID_BYTES_MAX = 511

/** Target size of an upload in bytes, and its most documents. An engine indexes several uploads in one commit. */
export const UPLOAD_BYTES_AIM = 8 * 1024 * 1024
export const UPLOAD_DOCUMENTS_MAX = 5_000

/** Milliseconds within which an upload must be answered. */
export const UPLOAD_MS_MAX = 300_000

/** Most uploads that are accepted but not indexed. */
export const UPLOADS_WAITING_MAX = 4

/** Milliseconds between two chunks of an export. */
export const EXPORT_IDLE_MS = 120_000

/** Longest document of an export in bytes. */
export const DOCUMENT_BYTES_MAX = 100_000_000

/** Milliseconds of another call to the source, and bytes of its answer. */
export const CALL_MS_MAX = 60_000
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** Collections in a page of a list. */
export const PAGE_COLLECTIONS = 100
