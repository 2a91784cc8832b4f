/** How much of a request do both engines look at, and how many documents are read at a time? */

/**
 * Bytes of a query that are searched for. Only its first ten words or phrases count, and only among its first thousand
 * tokens: words of 60 letters each fit. Tokens of a longer text would be cut, normalised and thrown away.
 * `crates/engine` has the same figure.
 */
export const QUERY_BYTES_MAX = 65_536

/**
 * Bytes of documents read from the engine at a time. They are split into lines on the main thread, so the page is
 * small.
 */
export const PAGE_BYTES = 1024 * 1024

/** Documents of the first page of an index. The sizes of later pages follow from the bytes of this one. */
export const FIRST_PAGE_DOCUMENTS = 16
/** Documents of any page. */
export const PAGE_DOCUMENTS_MAX = 10_000
