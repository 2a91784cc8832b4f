/** Stores the vectors of documents and compares vectors. */

export { similarity } from './distance.js'
export { type Embedder, embeddersOf } from './embedder.js'
export { allVectorPayloads, VectorReplay, VectorTail, vectorPayloads } from './log.js'
export { MissingVectors } from './missing-vectors.js'
export { mergedWant, PendingEmbeddings, type Want } from './pending-embeddings.js'
export { shownVectors } from './readback.js'
export { VectorSet, type VectorState } from './set.js'
export {
  applyVectors,
  type EmbedderChange,
  type StagedDocumentVectors,
  StagedVectors,
  type StagedWants,
} from './staged-vectors.js'
