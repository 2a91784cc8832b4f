/**
 * UTF-16 units of a text that are searched for words: of a query, and of the words and description of a rule. A rule
 * with more words is refused. A stored rule with more words never applies.
 */
export const TEXT_CHARS_MAX = 4096
/** UTF-16 units of the values of a rule's filter condition, written as JSON. */
export const VALUES_CHARS_MAX = 65_536
/** UTF-16 units of the filters of scaling actions, written as JSON: of one action, and of all actions in one search. */
export const FILTER_CHARS_MAX = 65_536
/** Actions of a rule that are carried out. Source: the API's page on dynamic search rules of version 1.57. */
export const ACTIONS_MAX = 1000
/** Ids of a scaling action that are carried out. Source: the same page. */
export const ACTION_IDS_MAX = 1000
/** Ids of all scaling actions in one search. */
export const SCALED_IDS_MAX = 10_000
/** Distinct words of the query for listing rules. */
export const LISTED_WORDS_MAX = 100
/** Rules that are prepared before yielding to the event loop. The longest rules take 2 ms each. */
export const RULES_PER_TURN = 5

/** Limits for the cost of rules in one search. Input beyond a limit is ignored. */
export interface RuleBudgets {
  /** Words of the query that are considered. */
  readonly countedWordsMax: number
  /** Active rules that are matched with a search, in order of precedence. */
  readonly activeRulesMax: number
  /** Documents pinned. */
  readonly pinsMax: number
  /** Actions that scale documents. */
  readonly scalesMax: number
  /** Words that are matched with the query, of all rules together. */
  readonly wordsMax: number
  /** Values that are matched with the filter, of all rules together. */
  readonly valuesMax: number
  /** Considered ways to pass the filter, equalities of each, and levels of AND and OR. */
  readonly branchesMax: number
  readonly equalitiesMax: number
  readonly levelsMax: number
}

/** Source: the API's budgets of dynamic search rules. */
export const defaultRuleBudgets: RuleBudgets = {
  countedWordsMax: 10,
  activeRulesMax: 1000,
  pinsMax: 100,
  scalesMax: 100,
  wordsMax: 4096,
  valuesMax: 4096,
  branchesMax: 100,
  equalitiesMax: 100,
  levelsMax: 25,
}
