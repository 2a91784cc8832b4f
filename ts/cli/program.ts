/** The commands of the program by their names. */

import { LaunchError, optionGroups } from '../launch/index.js'
import { suggestion } from '../parse/index.js'
import type { CommandEntry } from './command/index.js'
import { serverCommands } from './commands/index.js'

/** All commands. Without a command the program serves. */
export const commands: readonly CommandEntry[] = [
  ...serverCommands,
  {
    name: 'migrate',
    summary: 'copies a Meilisearch, siftd, Typesense or Algolia index into a running siftd',
    load: async () => (await import('./commands/migrate.js')).migrate,
  },
  {
    name: 'compare',
    summary: 'runs the same searches on two instances and prints the differences',
    load: async () => (await import('./commands/compare.js')).compare,
  },
  {
    name: 'sync',
    summary: 'keeps indexes equal to tables of PostgreSQL',
    load: async () => (await import('./commands/sync/index.js')).sync,
  },
  {
    name: 'verify',
    summary: 'lists damaged files of a data directory and their consequences',
    load: async () => (await import('./verify.js')).verify,
  },
  {
    name: 'repair',
    summary: 'rebuilds damaged parts of a data directory and rescues documents',
    load: async () => (await import('./repair.js')).repair,
  },
  {
    name: 'config',
    summary: 'lists all mistakes in a configuration file',
    load: async () => (await import('./config.js')).config,
  },
  {
    name: 'doctor',
    summary: 'checks this machine and configuration, and says how to fix problems',
    load: async () => (await import('./doctor/index.js')).doctor,
  },
  {
    name: 'health',
    summary: 'checks that the server on this machine or container answers',
    load: async () => (await import('./health.js')).health,
  },
  {
    name: 'bucket',
    summary: 'checks that an S3-compatible bucket creates objects atomically',
    load: async () => (await import('./bucket.js')).bucket,
  },
  {
    name: 'placement',
    summary: 'says which cell of several holds which index',
    load: async () => (await import('./placement.js')).placement,
  },
  {
    name: 'completion',
    summary: 'prints a completion script for bash, zsh or fish',
    load: async () => (await import('./completion.js')).completion(() => commands),
  },
]

/**
 * Returns the arguments with the words `help` and `version` as options, and help on a command as the option of that
 * command: `help import` is `import --help`. Some commands and groups of options have the same name: `help tasks` is
 * about the command, `--help tasks` about the options.
 */
export function usualArguments(args: readonly string[]): readonly string[] {
  const [first, second, ...more] = args
  if (first === 'version') return ['--version']
  if (first !== 'help' && first !== '--help' && first !== '-h') return args
  if (second === undefined) return ['--help']
  const isGroup = first !== 'help' && more.length === 0 && optionGroups().includes(second)
  const isCommand = !isGroup && commands.some(({ name }) => name === second)
  return isCommand ? [second, ...more, '--help'] : ['--help', second]
}

/** Returns the command that the first argument names. @throws LaunchError for an unknown command */
export function commandNamed(word: string | undefined): CommandEntry | null {
  if (word === undefined || word.startsWith('-')) return null
  const entry = commands.find(({ name }) => name === word)
  if (entry !== undefined) return entry
  const near = suggestion(
    word,
    commands.map(({ name }) => name),
  )
  const hint = near === null ? '' : `, did you mean \`${near}\`?`
  throw new LaunchError(`unknown command \`${word}\`${hint} (see siftd --help)`, 2)
}
