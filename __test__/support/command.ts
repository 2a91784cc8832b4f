import { type ChildProcess, spawn } from 'node:child_process'
import { program } from './program.js'

/** Output and exit code of a command. */
export interface Outcome {
  /** Null if a signal ended it. */
  readonly code: number | null
  readonly lines: readonly string[]
  readonly errors: readonly string[]
}

export interface RunningCommand {
  readonly outcome: Promise<Outcome>
  /** Kills it, as a power failure would. */
  kill(): void
  /** Interrupts it, as Ctrl+C does in a terminal. */
  interrupt(): void
}

const linesOf = (chunks: readonly Buffer[]): readonly string[] =>
  Buffer.concat(chunks)
    .toString()
    .split('\n')
    .filter((line) => line !== '')

/**
 * Starts `siftd` with arguments in a separate process.
 * @param input standard input
 * @param env variables in addition to those of the tests
 * @param cwd current directory
 */
export function startCommand(
  args: readonly string[],
  input = '',
  env: NodeJS.ProcessEnv = {},
  cwd = process.cwd(),
): RunningCommand {
  const child: ChildProcess = spawn(process.execPath, [program, ...args], {
    stdio: 'pipe',
    cwd,
    env: { ...process.env, ...env },
  })
  const [out, errors]: [Buffer[], Buffer[]] = [[], []]
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk))
  child.stdin?.end(input)
  const outcome = new Promise<Outcome>((resolve) =>
    child.once('close', (code) => resolve({ code, lines: linesOf(out), errors: linesOf(errors) })),
  )
  return { outcome, kill: () => void child.kill('SIGKILL'), interrupt: () => void child.kill('SIGINT') }
}

export const runCommand = (
  args: readonly string[],
  input?: string,
  env?: NodeJS.ProcessEnv,
): Promise<Outcome> => startCommand(args, input, env).outcome
