/** Here is a filter: which documents pass it? */
export { documentsMatching } from './evaluate.js'
export { type Filter, FilterError, type FilterFeatures, parseFilter, type VectorKind } from './parse.js'
