/** Here is a filter: which documents pass it? */
export { documentsMatching } from './evaluate.js'
export { type Filter, FilterError, parseFilter } from './parse.js'
