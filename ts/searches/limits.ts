/** Parts of a filter that an explanation judges, each with a search of its own. */
export const EXPLAINED_CLAUSES_MAX = 100
