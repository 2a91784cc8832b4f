/** Here is a task: has it ended, and what becomes of it? */

export { ChangeStream, type ChangesPage, eventOf, type ReadChanges } from './change-stream.js'
export { ChangedUids } from './changed-uids.js'
export { type OtherAnswer, serveTask, TaskWaits, waitParameter } from './serve-task.js'
export { SharedReads } from './shared-reads.js'
