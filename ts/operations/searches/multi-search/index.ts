/** Validates the queries of a multi-search and answers them from this instance. */
export { inside, requireAllowed, requireFederable, requirePlain } from './checks.js'
export {
  type Federation,
  multiSearchBody,
  type PositionedQuery,
  shownPosition,
} from './fields.js'
export { type LocalSearches, localSearches, type Merging, mergingOf } from './local.js'
