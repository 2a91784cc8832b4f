/** Parses and evaluates filters. */
export { FilterError } from './error.js'
export { documentsMatching } from './evaluate.js'
export {
  type ForeignIndexes,
  foreignIndexNotFound,
  readableDocuments,
  requireOwn,
  withForeignIds,
} from './foreign.js'
export { type FilterFeatures, parseFilter } from './parse.js'
export type { Filter } from './tree.js'
