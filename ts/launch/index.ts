/**
 * Reads launch options from arguments, environment and configuration file, and detects the resources of the machine.
 */
export { optionFlags, optionGroups } from './help.js'
export { LaunchError, type LaunchErrorCode } from './launch-error.js'
export { type LogLevel, type LogModule, type LogTarget, readLogTarget } from './log-target.js'
export {
  type Build,
  build,
  installAdvice,
  machine,
  packageFolder,
  packageVersion,
  userDirectory,
} from './machine.js'
export { withoutEffect } from './no-effect.js'
export type { Address, Machine } from './option.js'
export { launchMistakes, optionOf, parseLaunchOptions, type Run } from './parse.js'
export { BATCHED_TASKS_MAX, CACHE_BYTES_MIN } from './rows/work.js'
export type { LaunchOptions, OptionName } from './table.js'
export { tomlFault } from './toml-fault.js'
export { addressText } from './value-text.js'
