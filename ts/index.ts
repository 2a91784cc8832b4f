/** The package API (`import … from 'siftd'`): opens a data directory inside this process, without a server. */
export { ApiError, type ErrorCode } from './errors/index.js'
export * from './in-process/index.js'
export type { FeatureFlags } from './instance/index.js'
export { LaunchError, type LaunchErrorCode } from './launch/index.js'
export type { Explanation, FieldsPage, FieldView } from './operations/index.js'
export type { BatchView, IndexEntry, Page, Task, TaskChange, TaskFilter, TaskSummary } from './tasks/index.js'
