/**
 * Here is an event: which line of the log, and which count of use, does it leave? Both stay inside the process and its
 * log.
 */

export { humanLine } from './human-line.js'
export { type Logger, type LogOptions, type OpenedLog, openLog, openLogWithOutlets } from './log.js'
export { type Facts, type MetricName, type UsageEvent, usageMetrics } from './metrics.js'
export { LogOutlets, moduleLog, type Outlet } from './outlets.js'
export { closedUsage, type Figure, openUsage, type Usage, type UsageReport } from './usage.js'
