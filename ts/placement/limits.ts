/** Cells of a placement, and the modulus of the uids of their tasks. Never changes: uids name their cell. */
export const CELLS_MAX = 64

/** Addresses of a cell. */
export const URLS_MAX = 16

/** Longest placement, in bytes. Suffices for 60,000 indexes with names of 60 bytes. */
export const PLACEMENT_BYTES_MAX = 4 * 1024 * 1024

/** Milliseconds between two reads of the placement by a server. */
export const POLL_MS = 3_000

/** Milliseconds between two reads that requests cause. */
export const REFRESH_MS = 200

/** Milliseconds of a start until the stored copy of the placement is used. */
export const START_MS = 10_000
