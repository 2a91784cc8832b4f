/** The package API: the same engine and queue as the server, inside this process. */

export type {
  Attribute,
  Document,
  Formatted,
  GeoPoint,
  Hit,
  HitFields,
  MatchPosition,
  ReservedFields,
} from './document-types.js'
export { ClosedError, ReadOnlyError, TaskTimeoutError } from './errors.js'
export type { Filter } from './filter-types.js'
export { open } from './open.js'
export type * from './search-types.js'
export type * from './settings-types.js'
export type * from './types.js'
