/** Bytes of the JSON of one result. A longer list is cut at an item. */
export const RESULT_BYTES_MAX = 65_536
/** Queries of one search. */
export const QUERIES_MAX = 50
/** Hits or documents that a call may ask for. */
export const HITS_MAX = 200
/** Documents that one call may add. */
export const ADDED_DOCUMENTS_MAX = 1_000
/** Indexes whose attributes the description of the search tool names. */
export const NAMED_INDEXES_MAX = 20
/** Characters of each of these descriptions. */
export const NAMED_INDEX_CHARS_MAX = 400
/** Indexes that are listed as resources. */
export const RESOURCES_MAX = 100
/** Milliseconds that a write waits for the end of its task. */
export const WRITE_WAIT_MS = 10_000
/** Milliseconds for which clients may keep lists of tools and resources, which change with the indexes. */
export const LIST_TTL_MS = 60_000
/** Milliseconds for which clients may keep the description of the server. */
export const DISCOVERY_TTL_MS = 300_000
