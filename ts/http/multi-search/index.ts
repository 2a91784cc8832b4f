/** Here are several searches in one request: are they in order, and what is the answer of all? */
export { partition, requireAllowed, requireFederable, requirePlain } from './checks.js'
export { type Federation, multiSearchBody, type PlacedQuery } from './fields.js'
export { localSearches, type Merging } from './local.js'
export { searchNetwork } from './network.js'
