import type { Command, CommandOutput } from '../peer/index.js'
import { progressLine } from './progress-line.js'

/** A command by the first argument of the program. Its code is loaded only when it runs. */
export interface CommandEntry {
  readonly name: string
  /** One line for `siftd --help`. */
  readonly summary: string
  load(): Promise<Command>
}

/** The commands of the program beside serving. */
export const commands: readonly CommandEntry[] = [
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
]

/** Runs a command with the arguments after its name. @returns the exit code */
export async function runCommand(entry: CommandEntry, args: readonly string[]): Promise<0 | 1> {
  const command = await entry.load()
  if (args.some((arg) => arg === '--help' || arg === '-h')) {
    process.stdout.write(command.help)
    return 0
  }
  return command.run(args, terminalOutput())
}

/** Lines to the standard output, and progress to the standard error, so that a pipe gets results alone. */
function terminalOutput(): CommandOutput {
  const progress = progressLine(process.stderr, {
    info: (facts, doing) => {
      const { finished, total } = facts as { readonly finished: number; readonly total: number }
      process.stderr.write(`${doing} ${finished} of ${total}\n`)
    },
  })
  return {
    line(text) {
      progress.end()
      process.stdout.write(`${text}\n`)
    },
    progress: progress.show,
  }
}
