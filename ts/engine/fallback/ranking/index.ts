/** Here are candidates and a query: in which order do they come? */

export type { RankingRule, ScoreDetail } from './bucket.js'
export { type BucketSortResult, bucketSort, type Ranked } from './bucket-sort.js'
export { Distinct } from './distinct.js'
export { exactAttributeRule, exactWordsRule } from './exactness-rules.js'
export { geoRule } from './geo-rule.js'
export { attributeRankRule, wordPositionRule } from './place-rules.js'
export { proximityRule } from './proximity-rule.js'
export { detailsJson, globalScore, mergedScore, rankOf } from './score.js'
export { sortRule } from './sort-rule.js'
export { typoRule } from './typo-rule.js'
export { matchSet, wordsRule } from './words-rule.js'
