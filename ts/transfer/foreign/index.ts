/** Indexes of engines with another API, copied into a running siftd. */
export { type AlgoliaExport, readAlgolia } from './algolia.js'
export { copyForeign, describeForeign } from './copy.js'
export { type Foreign, ForeignError } from './foreign.js'
export { openTypesense, type TypesenseAddress } from './typesense.js'
