/** Schemas of the answers, and functions that send them. */
export * from './schemas.js'
export * from './send.js'
