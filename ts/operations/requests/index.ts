/** Reads and validates the requests of users, over HTTP or in process. */
export * from './foreign-keys.js'
export * from './limits.js'
export * from './locales.js'
export * from './parse/index.js'
export * from './rule-fields.js'
export * from './search-fields.js'
export * from './search-requests.js'
export { uuidV7 } from './uuid-v7.js'
