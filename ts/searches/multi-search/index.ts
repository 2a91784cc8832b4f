/** Here are several searches in one request: are all of them valid, and what is their answer from this instance? */
export { inside, requireAllowed, requireFederable, requirePlain } from './checks.js'
export {
  type Federation,
  multiSearchBody,
  type PositionedQuery,
  shownPosition,
} from './fields.js'
export { type LocalSearches, localSearches, type Merging, mergingOf } from './local.js'
