/** Largest file of judgments in bytes. A judgment takes about 50. */
export const JUDGMENT_BYTES_MAX = 64 * 1024 * 1024
/** Highest grade. The gain of a document is 2^grade − 1, so one document of a higher grade would outweigh all others. */
export const GRADE_MAX = 10

/** Factor of one step of an attribute weight. */
export const WEIGHT_STEP = 2
/** Weights that tuning tries. Settings accept more, but BM25F saturates. */
export const WEIGHT_LOWEST = 1 / 16
export const WEIGHT_HIGHEST = 32
/** Smallest gain of mean nDCG for which tuning changes a setting. */
export const GAIN_MIN = 0.0005
/** Most attributes whose weights tuning changes. */
export const ATTRIBUTES_MAX = 12
