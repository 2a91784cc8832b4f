/** Options that several commands take, each described once. */
import { resolve } from 'node:path'
import { LaunchError, optionOf } from '../launch/index.js'
import { Option } from './command.js'

export const jsonOption = new Option('--json', 'Prints JSON, an object a line')

/** The data directory of a command that needs one. */
export const dataOption = new Option(
  '--db-path <directory>',
  'The data directory (default: SVC_DB_PATH, or ./data.ms)',
)

/** The absolute path of the directory that the option, the environment or the default names. */
export const dataDirectoryOf = (dbPath: string | undefined): string =>
  resolve(dbPath ?? optionOf('dbPath', process.env) ?? './data.ms')

/** Reads the value of an option such as `--limit <n>`, a whole number. It throws a LaunchError with exit code 2. */
export const countFor =
  (option: string) =>
  (text: string): number => {
    if (/^\d{1,9}$/.test(text)) return Number(text)
    throw new LaunchError(`${option}: invalid value \`${text}\`, expected a number`, 2)
  }

/** For an option that may be repeated: all of its values. */
export const collected = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
]

/** The names of a list such as `title,year`. */
export const listOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
