/** Framework for commands: arguments, options, output, progress. */
export {
  type Arguments,
  type Command,
  type CommandEntry,
  defineCommand,
  type ExitCode,
  examples,
  Option,
  SERVER_GROUP,
} from './command.js'
export {
  authoritiesOf,
  caOption,
  instanceOf,
  keyFileOption,
  keyOption,
  onServer,
  type ServerOptions,
  serverOf,
} from './instance-options.js'
export { collected, countFor, dataDirectoryOf, dataOption, jsonOption, listOf } from './options.js'
export {
  type Colour,
  type CommandOutput,
  coloured,
  openTerminal,
  silentOutput,
  tableLines,
} from './output.js'
export { openProgress, type Progress, type ProgressLog, shownSeconds } from './progress.js'
export { StateFile } from './state-file.js'
