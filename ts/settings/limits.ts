/** Embedders of one index: internal ids are one byte, and zero means none. */
export const EMBEDDERS_MAX = 255

/** Fragments of one embedder, for documents and for searches: their numbers are one byte in both engines. */
export const FRAGMENTS_MAX = 255
