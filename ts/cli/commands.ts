/** The commands of the program by their names. */
import type { CommandEntry } from '../command/index.js'
import { serverCommands } from '../commands/index.js'
import { LaunchError } from '../launch/index.js'
import { suggestion } from '../parse/index.js'

/** The commands of the program beside serving. */
export const commands: readonly CommandEntry[] = [
  ...serverCommands,
  {
    name: 'migrate',
    summary: 'copies a running Meilisearch or siftd into a running siftd',
    load: async () => (await import('../migrate/index.js')).migrate,
  },
  {
    name: 'compare',
    summary: 'asks two running instances the same searches and prints what differs',
    load: async () => (await import('../compare/index.js')).compare,
  },
  {
    name: 'verify',
    summary: 'names every damaged file of a data directory, and what it costs',
    load: async () => (await import('./verify.js')).verify,
  },
  {
    name: 'repair',
    summary: 'makes damaged parts of a data directory anew, and rescues documents',
    load: async () => (await import('./repair.js')).repair,
  },
  {
    name: 'config',
    summary: 'names every mistake of a configuration file',
    load: async () => (await import('./config.js')).config,
  },
  {
    name: 'doctor',
    summary: 'looks at what a server needs here, and says how to mend what is wrong',
    load: async () => (await import('./doctor/index.js')).doctor,
  },
  {
    name: 'health',
    summary: 'tells whether the server of this machine or container answers',
    load: async () => (await import('./health.js')).health,
  },
  {
    name: 'bucket',
    summary: 'tells whether an S3-compatible bucket creates objects atomically',
    load: async () => (await import('./bucket/command.js')).bucket,
  },
  {
    name: 'completion',
    summary: 'prints a script with which bash, zsh or fish completes commands',
    load: async () => (await import('./completion.js')).completion(() => commands),
  },
]

/** The command that the first argument names. @throws LaunchError for a word that names none */
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
