/** Indexes of engines with another API, copied into a running siftd. */
export { readAlgolia } from './algolia.js'
export { copyForeign, describeForeign } from './copy.js'
export type { Foreign } from './foreign.js'
export { openTypesense } from './typesense.js'
