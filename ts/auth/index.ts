/** Authorizes requests by API keys and tenant tokens. */
export { type Action, actions } from './actions.js'
export { type Access, type Auth, type AuthOptions, openAuth } from './auth.js'
export {
  KeyBook,
  type KeyChange,
  type KeyPatch,
  type KeyRecord,
  type KeyStore,
  keyValue,
  type NewKey,
} from './key-book.js'
export { type PassedRights, readRights, type SearchRights, writeRights } from './passed-rights.js'
export { isPattern, matchesAny } from './patterns.js'
