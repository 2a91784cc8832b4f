/** Rules that charge documents for reading the query: which documents cost least? */

export { rankByCost } from './buckets.js'
export { occurrenceCosts } from './occurrence-costs.js'
export { type CostRule, NEVER } from './rule.js'
