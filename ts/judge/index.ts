/** Judged queries: reading them, metrics of rankings, and the search for better settings. Calls no server. */

export { type Candidate, changedMembers, startingCandidates } from './candidates.js'
export { changesOf, type Score, summaryOf } from './comparison.js'
export { type JudgedQuery, type Judgment, queriesOf, readJudgments, withoutIds } from './judgments.js'
export { ATTRIBUTES_MAX } from './limits.js'
export { idealOrder, largestLoss, NDCG_DEPTH, ndcg, RECALL_DEPTH, recall } from './metrics.js'
export { foldsOf, tune } from './tuning.js'
