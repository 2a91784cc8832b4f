/** Here is a document or a vector: which vectors are its, and which are near? */

export { similarity } from './distance.js'
export {
  applyVectors,
  type DraftDocument,
  type EmbedderChange,
  Lacking,
  type StagedVectors,
  type StagedWants,
  VectorDraft,
} from './draft.js'
export { type Embedder, embeddersOf } from './embedder.js'
export { allVectorPayloads, VectorReplay, vectorPayloads } from './frames.js'
export { shownVectors } from './readback.js'
export { type DocumentVectors, VectorSet, type VectorState } from './vector-set.js'
export { bothWants, type Want, WorkList } from './work.js'
