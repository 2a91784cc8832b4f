/** Renders the input of documents and searches, and requests their vectors from providers. */
export type { CallCounts, FailureModes } from './calls.js'
export {
  type EmbeddedSearch,
  type Embedders,
  type EmbeddersSetup,
  openEmbedders,
} from './embedders.js'
export type { DocumentsPage, EmbeddedPage } from './pages.js'
export { embeddingError } from './providers.js'
export { RenderThread } from './render-thread.js'
export { documentContext, type TemplateContext, TemplateError } from './templates.js'
export {
  noVectorSpool,
  openVectorSpool,
  type SpooledVectors,
  type VectorSpool,
} from './vector-spool.js'
