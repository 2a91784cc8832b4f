import { compare } from '../compare/index.js'
import { migrate } from '../migrate/index.js'
import type { Command, CommandOutput } from '../peer/index.js'
import { progressLine } from './progress-line.js'
import { verify } from './verify.js'

/** What the program does beside serving, by the first argument. */
export const commands: readonly Command[] = [migrate, compare, verify]

/** Runs a command with the arguments after its name. @returns the exit code */
export async function runCommand(command: Command, args: readonly string[]): Promise<0 | 1> {
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
