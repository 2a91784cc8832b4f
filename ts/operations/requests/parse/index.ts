/**
 * Types of values in requests: uids, ids, filters, dates. The module `parse` reads JSON and query strings.
 */
export * from '../../../parse/index.js'
export * from './values.js'
