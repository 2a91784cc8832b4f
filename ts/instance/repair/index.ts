/** Repairs a damaged data directory, and rescues the documents that are readable. */
export { repairDirectory } from './repair.js'
export type { Repair } from './request.js'
