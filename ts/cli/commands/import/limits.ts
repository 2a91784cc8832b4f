/** Bytes of an input to read at a time. */
export const READ_BYTES = 256 * 1024

/** Longest document in bytes: the default limit of a request body of the server. */
export const DOCUMENT_BYTES_MAX = 100_000_000

/** Default of `--batch-bytes`. A server indexes several enqueued batches in one commit. */
export const BATCH_BYTES = 2 * 1024 * 1024

/** Most documents in a batch. */
export const BATCH_DOCUMENTS_MAX = 20_000

/** Most batches that are sent but not indexed. Limits memory and the repeated work after an interruption. */
export const BATCHES_WAITING_MAX = 8

/** Milliseconds within which a batch must be accepted. */
export const UPLOAD_MS_MAX = 300_000

/** An import gives up after this many refused documents, since they probably have a common cause. */
export const REFUSED_MAX = 20
