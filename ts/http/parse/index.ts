/** Here is a request, what does it ask for, or what is its first mistake? */
export * from './fields.js'
export * from './json.js'
export * from './types.js'
export * from './values.js'
