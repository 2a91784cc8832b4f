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
/** Milliseconds in which a page or an upload has to be answered. */
export const PAGE_MS_MAX = 300_000
/** JSON of a page: as deep as a document may be, plus the list around it. */
export const pageJsonLimits = { depthMax: 140, valuesMax: 20_000_000 }

/** Uploads that were accepted and have not been indexed. Further pages wait, so that a stopped run repeats few. */
export const UPLOADS_WAITING_MAX = 4

/** Documents in which the length of an embedder's vectors is looked for. */
export const SAMPLE_DOCUMENTS = 100
