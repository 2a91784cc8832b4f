/** Milliseconds in which an upload has to be answered. */
export const UPLOAD_MS_MAX = 300_000

/** Uploads that were accepted and have not been indexed. Further pages wait, so that a stopped run repeats few. */
export const UPLOADS_WAITING_MAX = 4

/** Documents in which the length of an embedder's vectors is looked for. */
export const SAMPLE_DOCUMENTS = 100
