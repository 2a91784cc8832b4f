/** Which writes were asked for, how did each end, and which indexes exist? */
export * from './task.js'
export type * from './tasks.js'
