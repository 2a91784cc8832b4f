/** Waits for the end of a task, and streams changes of tasks and batches. */

export { ChangeStream, type ChangesPage, eventOf, type ReadChanges } from './change-stream.js'
export { ChangedUids } from './changed-uids.js'
export { type OtherAnswer, serveTask, TaskWaits, waitParameter } from './serve-task.js'
export { SharedReads } from './shared-reads.js'
