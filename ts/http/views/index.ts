/** Formats sizes, secrets and index statistics for answers. */
export { redactedAuthorization } from './secrets.js'
export { humanSize, size } from './sizes.js'
export { indexStats, outdatedIndexes, type StatsOptions, statsParameters } from './stats.js'
