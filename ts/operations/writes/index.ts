/** Validates requested changes, over HTTP or in process, and converts them to the content of tasks. */
export { type DeletionRequest, deletionBody, deletionContent } from './deletion.js'
export { type EditionRequest, editionBody, editionContent } from './edition.js'
export { type ExportRequest, exportBody, exportContent } from './export.js'
export type { WriteServices } from './services.js'
export { dryRunJson } from './settings-dry-run.js'
export { swapContent, swapsBody } from './swaps.js'
