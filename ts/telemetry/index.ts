/** Writes the log and counts usage. Both stay inside the process and its log. */

export { type Facts, type SearchEvent, searchEvents, type UsageEvent, usageEvents } from './events.js'
export { humanLine } from './human-line.js'
export {
  formatted,
  type Logger,
  type LogOptions,
  type OpenedLog,
  openLog,
  openLogWithOutlets,
} from './log.js'
export { type LineForm, LogOutlets, moduleLog, type Outlet, type PassedLine } from './outlets.js'
export {
  type CountedAnswer,
  type CountedFilter,
  type CountedSearch,
  mentions,
  type SearchCounters,
} from './search-counters.js'
export type { Figure } from './tallies.js'
export { closedUsage, openUsage, type Usage, type UsageReport } from './usage.js'
