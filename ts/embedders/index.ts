/** Here is a document or a search: which text is embedded for it, and which vector does its provider return? */
export type { CallCounts, FailureModes } from './calls.js'
export {
  type EmbeddedSearch,
  type Embedders,
  type EmbeddersSetup,
  openEmbedders,
} from './embedders.js'
export type { DocumentsPage, EmbeddedPage } from './pages.js'
export {
  noPaidVectors,
  openPaidVectors,
  type PaidVectorStore,
  type PaidVectors,
} from './paid-vectors.js'
export { embeddingError } from './providers.js'
export { RenderThread } from './render-thread.js'
export { documentContext, type TemplateContext, TemplateError } from './templates.js'
