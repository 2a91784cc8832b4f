/** Ranks candidate documents by ranking rules. */

export { Distinct } from '../facets/distinct.js'
export { type Comparable, compareValues, renderValue, valuesOf } from '../search/compare.js'
export { type BucketSortRequest, type BucketSortResult, bucketSort, type Ranked } from './bucket-sort.js'
export type { RankingRule, ScoreDetail } from './rule.js'
export { geoRule } from './rules/geo.js'
export { rulesOfSearch, type SortCriterion } from './rules/index.js'
export { sortRule } from './rules/sort.js'
export { vectorRule } from './rules/vector.js'
export { matchSet } from './rules/words.js'
export { detailsJson, globalScore, scaleOf } from './score.js'
