/** Characters of rows in one entry, unless a single row has more. */
export const ENTRY_CHANGES_CHARS = 4 * 2 ** 20

/** Bytes of a part of a compressed task store, at least, except for the last one. */
export const IMAGE_PART_BYTES = 8 * 2 ** 20

/** Longest base: it names each part of each file, a few hundred bytes for each. */
export const BASE_BYTES_MAX = 64 * 2 ** 20
