/** Here is a document, which text or vector stands for it? */
export type { CallCounts } from './calls.js'
export {
  type EmbeddedDocument,
  type EmbeddedSearch,
  type Embedders,
  type EmbeddersSetup,
  openEmbedders,
} from './embedders.js'
export { embeddingError } from './providers.js'
export {
  checkFragment,
  documentContext,
  renderFragment,
  renderText,
  type TemplateContext,
  TemplateError,
} from './templates.js'
