import type { JsonLimits } from '../../parse/index.js'

/** Bytes of an entry up to which it is staged in memory. A longer entry is staged in a file. */
export const ENTRY_BYTES_IN_MEMORY_MAX = 256 * 1024

/** Entries of an archive to read. Each waiting upload has one entry, each index three. */
export const ENTRIES_MAX = 1_000_000

/** Bytes of an entry's name: an index uid has at most 400. */
export const PATH_BYTES_MAX = 1_024

/** Bytes that unpacking leaves free on the disk. */
export const DISK_BYTES_LEFT = 64 * 1024 * 1024

/** Bytes of an entry that is read into memory completely, such as settings. */
export const ENTRY_BYTES_MAX = 64 * 1024 * 1024

/** Bytes of a line. A longer line could not become a JavaScript string. */
export const LINE_BYTES_MAX = 512 * 1024 * 1024

/** Bytes of documents that are imported in one commit. */
export const COMMIT_BYTES = 64 * 1024 * 1024

/** Tasks and batches written in one transaction. */
export const TRANSACTION_ROWS = 500

/** Documents that are searched for a vector, to find the number of its components. */
export const VECTORLESS_LINES_MAX = 10_000

/** Bytes after the end mark of a tar. Programs pad the last record, to 10 KiB or more. */
export const BYTES_AFTER_END_MAX = 1024 * 1024

/** Limits of the JSON of an entry or a line: a task with a million documents, a document of the largest depth. */
export const ENTRY_JSON: JsonLimits = { depthMax: 140, valuesMax: 5_000_000 }
