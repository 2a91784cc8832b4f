/** Here are arguments, an environment and a file: with which options does the process run, on which machine? */
export { LaunchError } from './launch-error.js'
export { machine, packageVersion, userDirectory } from './machine.js'
export {
  CACHE_BYTES_MIN,
  type Launch,
  type LaunchOptions,
  type LaunchSources,
  parseLaunchOptions,
} from './options.js'
export type { Address, Machine } from './values.js'
