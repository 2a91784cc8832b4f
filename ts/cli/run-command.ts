import { type CommandEntry, type ExitCode, openTerminal } from './command/index.js'

/** Runs a command with the arguments after its name. @returns the exit code */
export async function runCommand(entry: CommandEntry, args: readonly string[]): Promise<ExitCode> {
  const [command, terminal] = await Promise.all([entry.load(), openTerminal()])
  try {
    const code = await command.run(args, terminal.output)
    await terminal.written()
    return code
  } finally {
    terminal.end()
  }
}
