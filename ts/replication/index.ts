/** An instance in a bucket: sent there as it changes, and made from it elsewhere. */
export { DamagedBaseError } from './base.js'
export { DamagedBodyError } from './body.js'
export { LogState } from './log-state.js'
export { type Restored, restoreInstance } from './restore.js'
export { Shipper, type ShipperSetup } from './shipper.js'
