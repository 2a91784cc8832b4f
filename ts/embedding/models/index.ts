/** Embeds texts, and scores documents, with models that run on this machine. */
export { LateModelError, ModelError, type ModelName } from './model-error.js'
export { type Models, type ModelsSetup, type ModelUse, openModels } from './models.js'
export type { Pooling } from './runtime.js'
