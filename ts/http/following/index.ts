/** Here is a task: has it ended, and what becomes of it? */
export { ChangeStream, type ReadChanges } from './change-stream.js'
export { type OtherAnswer, serveTask, TaskWaits, waitParameter } from './serve-task.js'
