/** Metrics, usage statistics and log lines of answered requests. */
export { CreatedIndexes } from './created-indexes.js'
export { type Metrics, openCounts, openMetrics } from './metrics.js'
export { LazyLog, logRequests } from './request-log.js'
export { agentOf, onVectors, recordUse, taskFacts } from './usage.js'
