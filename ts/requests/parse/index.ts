/**
 * Here is a value in a request: which uid, id, filter or date is it? The module `parse` reads JSON and query strings.
 */
export * from '../../parse/index.js'
export * from './values.js'
