/** Most parts of a filter that an explanation judges. Each takes a search. */
export const EXPLAINED_CLAUSES_MAX = 100
/** Milliseconds to prepare queries of a multi-search before yielding to the event loop. */
export const PREPARING_TURN_MS = 10
