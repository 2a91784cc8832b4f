/** Code that only servers with a bucket load. */
export { acknowledging } from './acknowledging.js'
export { openBucket } from './open-bucket.js'
export { openReplicated } from './open-replicated.js'
export { replicatedBy } from './replicated.js'
