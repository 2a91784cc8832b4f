/** Here is a size, a secret or an index with its figures: how does an answer show it? */
export { redactedAuthorization } from './secrets.js'
export { humanSize, size } from './sizes.js'
export { indexStats, type StatsOptions, statsParameters } from './stats.js'
