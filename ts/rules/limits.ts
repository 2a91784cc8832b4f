/** Words of a query that rules look at. Source: the API's budgets of dynamic search rules. */
export const COUNTED_WORDS_MAX = 10

/** Active rules that a search is held against, in order of precedence. Source: as above. */
export const ACTIVE_RULES_MAX = 1000

/** Documents pinned in one search. Source: as above. */
export const PINS_MAX = 100
