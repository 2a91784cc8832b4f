/** Bytes of an input that are read at a time. */
export const READ_BYTES = 256 * 1024

/** Bytes of one document: as many as a server accepts in a request unless it is told otherwise. */
export const DOCUMENT_BYTES_MAX = 100_000_000

/** Bytes of a batch unless `--batch-bytes` says otherwise. A server takes several waiting batches into one commit. */
export const BATCH_BYTES = 2 * 1024 * 1024

/** Documents of a batch, however short they are. */
export const BATCH_DOCUMENTS_MAX = 20_000

/** Batches that were sent and have not been indexed. They bound the memory, and what a stopped run repeats. */
export const BATCHES_WAITING_MAX = 8

/** Milliseconds in which a batch has to be accepted. */
export const UPLOAD_MS_MAX = 300_000

/** Refused documents after which an import gives up: more of them have a cause of their own. */
export const REFUSED_MAX = 20
