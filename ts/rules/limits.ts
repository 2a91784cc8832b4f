/**
 * UTF-16 units of a text that are read for its words: of a query, of the words of a rule and of its description. A rule with more
 * words than this is refused, and one that was stored before never applies.
 */
export const TEXT_CHARS_MAX = 4096
/** UTF-16 units of the values of a rule's filter condition, written as JSON. */
export const VALUES_CHARS_MAX = 65_536
/** Actions of one rule that are carried out. Source: the API's page on dynamic search rules of version 1.57. */
export const ACTIONS_MAX = 1000
/** Distinct words of the text by which rules are listed. */
export const LISTED_WORDS_MAX = 100
/** Rules that are made ready between two turns of the event loop. The longest ones take 2 ms each. */
export const RULES_PER_TURN = 5

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
