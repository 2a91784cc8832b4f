/** Limits that both engines share. */

/**
 * Maximum bytes of a query; the rest is ignored. Only the first ten words or phrases count, and only within the first
 * thousand tokens: this is enough for words of 60 letters each. Further tokens would be segmented, normalised and then
 * discarded. `crates/engine` has the same figure.
 */
export const QUERY_BYTES_MAX = 65_536

/** Bytes of documents read from the engine at a time. The main thread splits them into lines, so pages are small. */
export const PAGE_BYTES = 1024 * 1024

/** Documents in the first page of an index. The sizes of later pages follow from its size in bytes. */
export const FIRST_PAGE_DOCUMENTS = 16
/** Maximum number of documents in a page. */
export const PAGE_DOCUMENTS_MAX = 10_000
