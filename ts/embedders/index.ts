/** Here is a document or a search: which text is embedded for it, and which vector does its provider return? */
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
