/** Here is a task: has it ended, and what becomes of it? */
export { serveTask, TaskWaits, waitParameter } from './serve-task.js'
