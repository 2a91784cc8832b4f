/** Authorizes requests by API keys and tenant tokens. */
export { type Action, actions } from './actions.js'
export { type Access, type Auth, openAuth } from './auth.js'
export { KeyBook, type KeyChange, type KeyRecord } from './key-book.js'
export { readRights, type SearchRights, writeRights } from './passed-rights.js'
export { matchesAny } from './patterns.js'
