/** Options that several commands share. */
import { resolve } from 'node:path'
import { LaunchError, optionOf } from '../../launch/index.js'
import { Option } from './command.js'

export const jsonOption = new Option('--json', 'Prints JSON, one object per line')

/** Data directory of a command. */
export const dataOption = new Option(
  '--db-path <directory>',
  'The data directory (default: SVC_DB_PATH, or ./data.ms)',
)

/** Absolute path of the data directory: from the option, the environment or the default. */
export const dataDirectoryOf = (dbPath: string | undefined): string =>
  resolve(dbPath ?? optionOf('dbPath', process.env) ?? './data.ms')

/** Parser for the integer value of an option such as `--limit <n>`. It throws a LaunchError with exit code 2. */
export const countFor =
  (option: string) =>
  (text: string): number => {
    if (/^\d{1,9}$/.test(text)) return Number(text)
    throw new LaunchError(`${option}: invalid value \`${text}\`, expected a number`, 2)
  }

/** Collects the values of a repeatable option. */
export const collected = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
]

/** Parses a list such as `title,year`. */
export const listOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
