/** Renders the input of documents and searches, and requests their vectors from providers. */

export { type Embedders, type EmbeddersSetup, openEmbedders } from './embedders.js'
export {
  LateModelError,
  ModelError,
  type ModelName,
  type Models,
  type ModelsSetup,
  type ModelUse,
  openModels,
} from './models/index.js'
export type { DocumentsPage, EmbeddedPage } from './pages.js'
export { embeddingError } from './providers/providers.js'
export { RenderThread } from './templates/render-thread.js'
export {
  documentContext,
  renderText,
  type TemplateContext,
  TemplateError,
} from './templates/templates.js'
export {
  noVectorSpool,
  openVectorSpool,
  type SpooledVectors,
  type VectorSpool,
} from './vector-spool.js'
