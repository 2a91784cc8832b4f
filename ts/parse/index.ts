/** Here is JSON or a query string: which typed value is it, or what is its first mistake? And what may be sent? */
export * from './fields.js'
export * from './json.js'
export { defaultJsonLimits, type JsonLimits } from './limits.js'
export { isDecimal, isHttpUrl, shortInteger, withoutTrailing } from './literals.js'
export { ownValue } from './own.js'
export * from './schema.js'
export { choices } from './suggestion.js'
export * from './types.js'
