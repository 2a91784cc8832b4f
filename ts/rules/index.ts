/** Here is a search: which documents shall stand at which places, whatever their rank? */
export { defaultRuleBudgets, type RuleBudgets } from './limits.js'
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
export { foldedWords } from './words.js'
