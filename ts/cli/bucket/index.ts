/** Everything that only servers with a bucket load. */
export { acknowledging } from './acknowledging.js'
export { openBucket } from './open-bucket.js'
export { openKept } from './open-kept.js'
export { replicatedBy } from './replicated.js'
