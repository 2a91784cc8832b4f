/** Bytes of documents asked of the engine at a time. Small, since the page is taken apart on the main thread. */
export const PAGE_BYTES = 1024 * 1024

/** Documents of the first page of an index, whose size nobody knows yet, and of any page. */
export const FIRST_PAGE_DOCUMENTS = 16
export const PAGE_DOCUMENTS_MAX = 10_000

/** Entries up to this size are gathered in memory; longer ones go through a file first. */
export const ENTRY_BYTES_IN_MEMORY_MAX = 256 * 1024
