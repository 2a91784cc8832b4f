/** Common code of all commands: help, arguments, usage errors, exit codes. */
import { styleText } from 'node:util'
import {
  Command as Arguments,
  type CommanderError,
  type CommandUnknownOpts,
  Help,
} from '@commander-js/extra-typings'
import { LaunchError } from '../../launch/index.js'
import { type CommandOutput, silentOutput } from './output.js'

export type { Arguments }

/** 0: success. 1: the command found a problem. */
export type ExitCode = 0 | 1

/** A command of the program: `siftd NAME …`. */
export interface Command {
  /**
   * Parses the arguments after the name and runs the command.
   * @throws LaunchError with exit code 2 for wrong usage, PeerError for an instance that fails or refuses
   */
  run(args: readonly string[], output: CommandOutput): Promise<ExitCode>
  /** Its arguments, for completion scripts. */
  describe(): CommandUnknownOpts
}

/** Name of a command, with a function that loads its code. */
export interface CommandEntry {
  readonly name: string
  /** Summary line for `siftd --help`. */
  readonly summary: string
  load(): Promise<Command>
}

/** Option class of commander, for options that several commands share. */
export { Option } from '@commander-js/extra-typings'

/** Columns of help texts: at most this many on a terminal, exactly this many elsewhere. */
const HELP_COLUMNS = 100

/** Title of the options that name a server. This group is last in a help text. */
export const SERVER_GROUP = 'Server:'

const serverLast: Help['groupItems'] = (items, visible, groupOf) => {
  const groups = Help.prototype.groupItems(items, visible, groupOf)
  const server = groups.get(SERVER_GROUP)
  if (server !== undefined && groups.delete(SERVER_GROUP)) groups.set(SERVER_GROUP, server)
  return groups
}

/**
 * Defines a command.
 * @param build adds options and actions to a new command; an action reports a problem with `output.finding()`
 */
export function defineCommand(
  name: string,
  build: (command: Arguments, output: CommandOutput) => unknown,
): Command {
  const built = (output: CommandOutput): Arguments => {
    const command = new Arguments(`siftd ${name}`)
      .configureOutput({
        writeOut: (text) => output.line(text.replace(/\n$/, '')),
        // Usage errors are thrown and printed like all other errors of the program.
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

/** Joins the lines of each paragraph, since commander wraps lines itself. Lines that begin with a space stay. */
const unwrapped = (text: string): string => text.replaceAll(/(?<=[^\n])\n(?=[^\n ])/g, ' ')

/** Formats examples for the end of a help text. @param text one example per line */
export const examples = (text: string): string => `
Examples:
${text.trim().replaceAll(/^ */gm, '  ')}`

/** Thrown after the help was printed, to end the command. */
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
  // The subcommand is missing: commander would print the complete help as an error.
  if (mistake.code === 'commander.help') {
    const names = command.commands.map((one) => `\`${one.name()}\``).join(', ')
    return new LaunchError(`${asked}expected one of ${names}${hint}`, 2)
  }
  const [reason = '', ...advice] = mistake.message.replace(/^error: |\.$/g, '').split('\n')
  const near = advice
    .join(' ')
    .replace(/^\(Did/, ', did')
    .replace(/\)$/, '')
  // A misspelt option may have the value of a secret.
  const [option] = reason.split('=')
  const hasValue = mistake.code === 'commander.unknownOption' && option !== reason
  const shown = hasValue ? `${option}'` : reason
  return new LaunchError(`${asked}${shown}${near}${hint}`, 2)
}
