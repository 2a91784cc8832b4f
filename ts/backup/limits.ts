/**
 * Bytes of documents read from the engine at a time. They are split into lines on the main thread, so the page is
 * small.
 */
export const PAGE_BYTES = 1024 * 1024

/** Documents of the first page of an index. The sizes of later pages follow from the bytes of this one. */
export const FIRST_PAGE_DOCUMENTS = 16
/** Documents of any page. */
export const PAGE_DOCUMENTS_MAX = 10_000

/** Bytes of an entry that is staged in memory. A longer one is staged in a file. */
export const ENTRY_BYTES_IN_MEMORY_MAX = 256 * 1024

/** Entries of an archive that is read. Each waiting upload has one, each index three. */
export const ENTRIES_MAX = 1_000_000

/** Bytes of an entry's name: an index uid has at most 400. */
export const PATH_BYTES_MAX = 1_024

/** Bytes that unpacking leaves free on the disk. */
export const DISK_BYTES_LEFT = 64 * 1024 * 1024

/** Bytes of an entry that is read as a whole, such as settings. */
export const WHOLE_ENTRY_BYTES_MAX = 64 * 1024 * 1024

/** Bytes of a line. A longer one could not become a JavaScript string. */
export const LINE_BYTES_MAX = 512 * 1024 * 1024

/** Bytes of documents that are imported in one commit. */
export const COMMIT_BYTES = 64 * 1024 * 1024

/** Tasks and batches written in one transaction. */
export const TRANSACTION_ROWS = 500

/** Documents that are searched for a vector, to learn the number of its components. */
export const VECTORLESS_LINES_MAX = 10_000
