/** Here is a result: which shape does its answer have, and how is it sent? */
export * from './schemas.js'
export * from './send.js'
