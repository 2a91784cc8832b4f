/** What happened, and who may read it? Nothing here is ever sent anywhere. */
export { type Logger, type LogOptions, openLog } from './log.js'
export { type Facts, type MetricName, type UsageEvent, usageMetrics } from './metrics.js'
export { type Figure, openUsage, type Usage, type UsageReport } from './usage.js'
