/** Concurrent searches on each side. More could make a small server answer 503. */
export const ASKED_AT_A_TIME = 4

/** Default of `--show`. */
export const SHOWN_DEFAULT = 20
/** Most ids in a printed difference. */
export const IDS_SHOWN = 10
/** Most counts and totals in a printed difference. */
export const MEMBERS_SHOWN = 5

/** Scores that differ by at most this count as equal, since two versions may sum in a different order. */
export const SCORE_TOLERANCE = 1e-6
