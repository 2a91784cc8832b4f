/** What rules may cost one search. What lies beyond a budget is as if it were not there. */
export interface RuleBudgets {
  /** Words of the query that are looked at. */
  readonly countedWordsMax: number
  /** Active rules that a search is held against, in order of precedence. */
  readonly activeRulesMax: number
  /** Documents pinned. */
  readonly pinsMax: number
  /** Words of rules that the query is held against, of all rules together. */
  readonly wordsMax: number
  /** Values of rules that the filter is held against, of all rules together. */
  readonly valuesMax: number
  /** Ways to pass the filter that are looked at, equalities of each, and levels of AND and OR. */
  readonly branchesMax: number
  readonly equalitiesMax: number
  readonly levelsMax: number
}

/** Source: the API's budgets of dynamic search rules. */
export const defaultRuleBudgets: RuleBudgets = {
  countedWordsMax: 10,
  activeRulesMax: 1000,
  pinsMax: 100,
  wordsMax: 4096,
  valuesMax: 4096,
  branchesMax: 100,
  equalitiesMax: 100,
  levelsMax: 25,
}
