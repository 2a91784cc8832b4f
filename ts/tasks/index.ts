/** Which writes were asked for, how did each end, and which indexes exist? */
export type { BatchLimits } from './batching.js'
export { type DriverName, driverNames } from './driver.js'
export type { Embed, TaskLog } from './execute.js'
export { type OpenedTasks, openTasks, type TasksSetup } from './open.js'
export type { StoredWebhook, WebhookBody } from './records.js'
export * from './task.js'
export type * from './tasks.js'
export { LAUNCH_WEBHOOK } from './webhook-table.js'
