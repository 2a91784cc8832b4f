import type { JsonLimits } from '../parse/index.js'

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

/** Bytes behind the end mark of a tar. Programs fill up their last record, of 10 KiB or some more. */
export const BYTES_BEHIND_END_MAX = 1024 * 1024

/** JSON of an entry or a line: a task that names a million documents, a document of the depth that one may have. */
export const ENTRY_JSON: JsonLimits = { depthMax: 140, valuesMax: 5_000_000 }
