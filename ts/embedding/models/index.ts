/** Embeds texts with models that run on this machine. */
export { ModelError } from './model-error.js'
export { type Models, type ModelsSetup, type ModelUse, openModels } from './models.js'
export type { Pooling } from './runtime.js'
