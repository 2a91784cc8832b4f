/** Search engines: one interface with a native and a TypeScript implementation. */

export { addonAdvice, addonPlatforms, loadAddon } from './addon.js'
export { analysisChanges } from './analysis-changes.js'
export { type Answers, answersOf } from './answer-cache.js'
export { engineSharing } from './attach.js'
export {
  type BackgroundFault,
  BackgroundFaults,
  type ReportFault,
  reasonOf,
} from './background-faults.js'
export type * from './batches.js'
export { NO_FRAGMENT } from './batches.js'
export { documentLines } from './document-lines.js'
export { documentPages, pageRequest } from './document-pages.js'
export { encodeRequest } from './encoding.js'
export { endThread } from './end-thread.js'
export type * from './engine.js'
export { EngineError } from './engine-error.js'
export { type Equality, type EqualityBranch, equalityBranches } from './equalities.js'
export type * from './explain-facts.js'
export {
  compareValues as compareScoreValues,
  readValue as readScoreValue,
  type Value as ScoreValue,
} from './fallback/search/compare.js'
export { interleaved } from './fallback/search/interleave.js'
export { type Clause, filterClauses } from './filter-clauses.js'
export { filterMistake } from './filter-mistake.js'
export { foreignIndexes } from './foreign-indexes.js'
export { type IndexId, requireIndexId } from './index-id.js'
export { makeDirectory } from './make-directory.js'
export { searchedText } from './query-text.js'
export type * from './requests.js'
export { loadScripts, type RunScript } from './scripts.js'
export { type EngineChoice, type OpenedEngine, openEngine, type WrapEngine } from './select.js'
export type * from './setup.js'
export { syncDirectory } from './sync-directory.js'
export { withStages } from './timed-answers.js'
export { WordSegmenter } from './word-segments.js'
