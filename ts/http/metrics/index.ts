/** Here is an answered request: which figures, counts and lines of the log does it leave? */
export { CreatedIndexes } from './created-indexes.js'
export { type Metrics, openMetrics } from './metrics.js'
export { logRequests } from './request-log.js'
export { observed, observedSearch, onVectors, recordUse, refusedSearch, taskFacts } from './usage.js'
