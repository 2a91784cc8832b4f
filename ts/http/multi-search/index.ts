/** Here are several searches in one request: are all of them valid, and what is their answer? */
export { partition, requireAllowed, requireFederable, requirePlain } from './checks.js'
export { type Federation, multiSearchBody, type PositionedQuery } from './fields.js'
export { localSearches, type Merging } from './local.js'
export { searchNetwork } from './network.js'
