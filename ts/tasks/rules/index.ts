/** Dynamic search rules: pin documents to positions in some searches. */
export { defaultRuleBudgets, type RuleBudgets, TEXT_CHARS_MAX, VALUES_CHARS_MAX } from './limits.js'
export { listedRules, type RuleFilter } from './listing.js'
export { pinsFor, type RuledSearch } from './match.js'
export {
  type Action,
  type Conditions,
  changedRules,
  type Pin,
  type Rule,
  type RulePatch,
  type Rules,
} from './rule.js'
export { areValuesTooLong, areWordsTooLong, RuleBook } from './rule-book.js'
