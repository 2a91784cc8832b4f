/** What happened, and who may read it? Nothing here is ever sent anywhere. */
export { type Logger, type LogOptions, openLog } from './log.js'
