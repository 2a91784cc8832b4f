/** Bytes of documents asked of the engine at a time. Small, since the page is taken apart on the main thread. */
export const PAGE_BYTES = 1024 * 1024

/** Documents of the first page of an index, whose size nobody knows yet, and of any page. */
export const FIRST_PAGE_DOCUMENTS = 16
export const PAGE_DOCUMENTS_MAX = 10_000

/** Entries up to this size are gathered in memory; longer ones go through a file first. */
export const ENTRY_BYTES_IN_MEMORY_MAX = 256 * 1024

/** Entries of an archive that is read: each waiting upload has one, each index three. */
export const ENTRIES_MAX = 1_000_000

/** Bytes of an entry's name: an index uid has at most 400. */
export const PATH_BYTES_MAX = 1_024

/** Room that unpacking leaves on the disk. */
export const DISK_BYTES_LEFT = 64 * 1024 * 1024

/** Bytes of an entry that is read as a whole, such as settings. */
export const WHOLE_ENTRY_BYTES_MAX = 64 * 1024 * 1024

/** Bytes of a line: no document can be longer than the largest text. */
export const LINE_BYTES_MAX = 512 * 1024 * 1024

/** Bytes of documents that go into one commit: what a server takes in one request by default. */
export const COMMIT_BYTES = 64 * 1024 * 1024

/** Tasks and batches written in one transaction. */
export const TRANSACTION_ROWS = 500

/** Documents that are looked at for a vector, to learn how long an embedder's are. */
export const VECTORLESS_LINES_MAX = 10_000
