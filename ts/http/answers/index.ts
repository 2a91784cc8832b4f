/** Schemas of the answers, and functions that send them. */
export * from './chat-schemas.js'
export * from './rule-schemas.js'
export * from './schemas.js'
export * from './search-schemas.js'
export * from './send.js'
