/** Concurrent searches. More could make a small server answer 503. */
export const SEARCHES_AT_A_TIME = 4
/** Time limit of a search in a copy, in milliseconds. */
export const SEARCH_MS = 60_000
/** Ids that one call looks up. */
export const IDS_AT_A_TIME = 1_000
/** Unknown ids that a message names. */
export const IDS_SHOWN = 5
/** Default of `--show`. */
export const SHOWN_DEFAULT = 5
/** Default of `--folds`. */
export const FOLDS_DEFAULT = 5
/** Default of `--tries`. */
export const TRIES_DEFAULT = 200
/** Default of `--seed`. */
export const SEED_DEFAULT = 1
