/** Parts of a filter that an explanation judges, each with a search of its own. */
export const EXPLAINED_CLAUSES_MAX = 100
/** Milliseconds for which the queries of a multi-search are prepared between two turns of the event loop. */
export const PREPARING_TURN_MS = 10
