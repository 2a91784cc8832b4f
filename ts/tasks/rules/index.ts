/** Dynamic search rules: pin documents to positions and scale their scores in some searches. */
export {
  defaultRuleBudgets,
  FILTER_CHARS_MAX,
  type RuleBudgets,
  TEXT_CHARS_MAX,
  VALUES_CHARS_MAX,
} from './limits.js'
export { listedRules } from './listing.js'
export {
  type ConditionOutcomes,
  effectsOf,
  inlineOutcomes,
  type RuledSearch,
  type RuleEffects,
} from './match.js'
export { compactActions, presentMembers, presentPatch, presentRule } from './older-forms.js'
export {
  type Actions,
  type Conditions,
  changedRules,
  type InlineRule,
  type PinAction,
  RESERVED_RULE_UID,
  type Rule,
  type RulePatch,
  type Rules,
  type ScaleAction,
} from './rule.js'
export { areValuesTooLong, areWordsTooLong, effectiveRule, isFilterTooLong, RuleBook } from './rule-book.js'
export { type PendingRuleTask, targetCount, targetOf, tasksOfRule } from './target.js'
