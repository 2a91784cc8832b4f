/** Searches that are asked at the same time of each side. More would make a small server answer 503. */
export const ASKED_AT_A_TIME = 4

/** Differences that are printed unless `--show` says otherwise. */
export const SHOWN_DEFAULT = 20
/** Ids of a page that a printed difference shows. */
export const IDS_SHOWN = 10

/** How much scores may differ and count as equal. Two versions may sum in another order. */
export const SCORE_TOLERANCE = 1e-6
