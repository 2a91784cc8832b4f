/** Here is a damaged data directory: what of it can be made anew, and what can be rescued? */
export { repairDirectory } from './repair.js'
export type { Repair, RepairRequest } from './request.js'
