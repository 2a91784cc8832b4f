/** Here is the name of an embedding model: which vectors does it make of texts, on this machine? */
export { ModelError } from './model-error.js'
export { type Models, type ModelsSetup, type ModelUse, openModels } from './models.js'
export type { Pooling } from './runtime.js'
