/** Checked requests to an open instance: searches and other reads → bytes of the answer, changes → the task to enqueue. */
export * from './requests/index.js'
export * from './searches/index.js'
export * from './writes/index.js'
