/** Ranking rules that rank documents by the cost of reading the query. */

export { rankByCost } from './buckets.js'
export { occurrenceCosts, type Tariff } from './occurrence-costs.js'
export { type CostRule, NEVER } from './rule.js'
