import { type CommandEntry, type ExitCode, openTerminal } from './command/index.js'

/** Runs a command with the arguments after its name. @returns the exit code */
export async function runCommand(entry: CommandEntry, args: readonly string[]): Promise<ExitCode> {
  const [command, terminal] = await Promise.all([entry.load(), openTerminal()])
  try {
    return await command.run(args, terminal.output)
  } finally {
    terminal.end()
  }
}
