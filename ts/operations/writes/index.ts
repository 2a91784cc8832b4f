/** Validates requested changes, over HTTP or in process, and converts them to the content of tasks. */
export { deletionBody, deletionContent } from './deletion.js'
export { editionBody, editionContent } from './edition.js'
export { type ExportRequest, exportBody, exportContent } from './export.js'
export { featuresBody, sentFeatures } from './features.js'
export { creationBody, updateBody } from './indexes.js'
export { dryRunJson } from './settings-dry-run.js'
export { swapContent, swapsBody } from './swaps.js'
