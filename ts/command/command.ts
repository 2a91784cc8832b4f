/** What every command of the program has in common: help, arguments, mistakes in them, exit codes. */
import { styleText } from 'node:util'
import {
  Command as Arguments,
  type CommanderError,
  type CommandUnknownOpts,
  Help,
} from '@commander-js/extra-typings'
import { LaunchError } from '../launch/index.js'
import { type CommandOutput, silentOutput } from './output.js'

export type { Arguments }

/** 0: all is well. 1: what the command was asked about is not as it should be. */
export type ExitCode = 0 | 1

/** A command of the program beside the server: `siftd NAME …`. */
export interface Command {
  /**
   * Reads the arguments after the name, and does what they ask for.
   * @throws LaunchError with exit code 2 for wrong usage, PeerError for an instance that fails or refuses
   */
  run(args: readonly string[], output: CommandOutput): Promise<ExitCode>
  /** Its arguments, for what describes commands. */
  describe(): CommandUnknownOpts
}

/** A command by the first argument of the program. Its code is loaded only when it runs. */
export interface CommandEntry {
  readonly name: string
  /** One line for `siftd --help`. */
  readonly summary: string
  load(): Promise<Command>
}

/** An option that is needed in several places, as commander has it. */
export { Option } from '@commander-js/extra-typings'

/** Columns of a help that goes to no terminal, and the most it takes on one. */
const HELP_COLUMNS = 100

/** The title over the options that name a server, which stand last in a help. */
export const SERVER_GROUP = 'Server:'

const serverLast: Help['groupItems'] = (items, visible, groupOf) => {
  const groups = Help.prototype.groupItems(items, visible, groupOf)
  const server = groups.get(SERVER_GROUP)
  if (server !== undefined && groups.delete(SERVER_GROUP)) groups.set(SERVER_GROUP, server)
  return groups
}

/**
 * Makes a command of its options and actions.
 * @param build adds them to a new command; an action tells a finding by `output.finding()`
 */
export function defineCommand(
  name: string,
  build: (command: Arguments, output: CommandOutput) => unknown,
): Command {
  const built = (output: CommandOutput): Arguments => {
    const command = new Arguments(`siftd ${name}`)
      .configureOutput({
        writeOut: (text) => output.line(text.replace(/\n$/, '')),
        // Mistakes are thrown, and shown where every error of the program is.
        outputError: () => undefined,
        writeErr: () => undefined,
        getOutHelpWidth: () => Math.min(process.stdout.columns ?? HELP_COLUMNS, HELP_COLUMNS),
        getOutHasColors: () => output.hasColors,
      })
      .configureHelp({
        styleTitle: (title) => styleText('bold', title),
        groupItems: serverLast,
        commandDescription: (described) => unwrapped(described.description()),
      })
      .helpCommand(false)
      .helpOption('-h, --help', 'Prints this text')
    build(command, output)
    throwMistakes(command, [`siftd ${name}`])
    return command
  }
  return {
    async run(args, output) {
      let code: ExitCode = 0
      const finding = (): void => {
        code = 1
      }
      try {
        await built({ ...output, finding }).parseAsync(args, { from: 'user' })
      } catch (error) {
        if (!(error instanceof HelpShown)) throw error
      }
      return code
    },
    describe: () => built(silentOutput),
  }
}

/** A text whose paragraphs are one line each, for a help that breaks lines itself. Lines that begin with a space stay. */
const unwrapped = (text: string): string => text.replaceAll(/(?<=[^\n])\n(?=[^\n ])/g, ' ')

/** Examples at the end of a help, each on a line of `text`. */
export const examples = (text: string): string => `
Examples:
${text.trim().replaceAll(/^ */gm, '  ')}`

/** Ends a command whose help was asked for and shown. */
class HelpShown extends Error {}

function throwMistakes(command: CommandUnknownOpts, path: readonly string[]): void {
  command.exitOverride((mistake) => {
    throw usageError(mistake, command, path)
  })
  for (const one of command.commands) throwMistakes(one, [...path, one.name()])
}

function usageError(mistake: CommanderError, command: CommandUnknownOpts, path: readonly string[]): Error {
  if (mistake.exitCode === 0) return new HelpShown()
  const asked = `${path.join(' ').replace(/^siftd /, '')}: `
  const hint = ` (see ${path.join(' ')} --help)`
  // A group without the name of a command of it: commander would print the whole help as an error.
  if (mistake.code === 'commander.help') {
    const names = command.commands.map((one) => `\`${one.name()}\``).join(', ')
    return new LaunchError(`${asked}expected one of ${names}${hint}`, 2)
  }
  const [reason = '', ...advice] = mistake.message.replace(/^error: |\.$/g, '').split('\n')
  const near = advice
    .join(' ')
    .replace(/^\(Did/, ', did')
    .replace(/\)$/, '')
  return new LaunchError(`${asked}${reason}${near}${hint}`, 2)
}
