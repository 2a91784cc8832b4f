/** Output of commands: results to the standard output, everything else to the standard error. */
import { styleText } from 'node:util'
import { LaunchError } from '../../launch/index.js'
import { printable } from '../../parse/index.js'
import { openProgress } from './progress.js'

export interface CommandOutput {
  /** True if the standard output is a terminal with colours, and NO_COLOR is not set. */
  readonly hasColors: boolean
  /** Prints a line of the result. */
  line(text: string): void
  /** Prints a part of a long result. Resolves when the stream can accept more. */
  write(part: string | Uint8Array): Promise<void>
  /** Prints a line to the standard error. */
  note(text: string): void
  /**
   * Shows the progress of a long step.
   * @param total 0: unknown
   * @param detail shown after the progress bar on a terminal
   */
  progress(doing: string, finished: number, total: number, detail?: string): void
  /** Sets the exit code to 1: the command found a problem. */
  finding(): void
}

const nothing = (): void => undefined

/** Prints nothing. For commands that are only described or called by other code. */
export const silentOutput: CommandOutput = {
  hasColors: false,
  line: nothing,
  write: async () => undefined,
  note: nothing,
  progress: nothing,
  finding: nothing,
}

/** The output of this process. */
interface Terminal {
  readonly output: CommandOutput
  /** Erases the progress bar. */
  end(): void
  /**
   * Resolves when all results are written, or the reader of a pipe does not want more of them.
   * @throws LaunchError if the standard output cannot be written, as on a full disk
   */
  written(): Promise<void>
}

export async function openTerminal(): Promise<Terminal> {
  const { stdout, stderr } = process
  const progress = await openProgress(stderr, (doing, finished, total) =>
    stderr.write(`${doing} ${finished}${total === 0 ? '' : ` of ${total}`}\n`),
  )
  // Node.js resets `stdout.errored` and `stdout.destroyed` after each failed write.
  let fault: NodeJS.ErrnoException | null = null
  stdout.once('error', (error) => {
    fault = error
  })
  const write = async (part: string | Uint8Array): Promise<void> => {
    progress.end()
    if (fault !== null) throw lostOutput(fault)
    // Control characters are removed only on terminals.
    const shown = stdout.isTTY === true ? printableParts(Buffer.from(part).toString()) : part
    if (!stdout.write(shown)) await drained(stdout)
  }
  const output: CommandOutput = {
    hasColors: stdout.isTTY === true && stdout.hasColors(),
    line: (text) => void write(`${printableParts(text)}\n`).catch(() => undefined),
    write,
    note(text) {
      progress.end()
      stderr.write(`${printableParts(text)}\n`)
    },
    progress: (doing, finished, total, detail) =>
      progress.show(printable(doing), finished, total, detail === undefined ? detail : printable(detail)),
    finding: nothing,
  }
  const written = async (): Promise<void> => {
    await new Promise<void>((resolve) => stdout.write('', () => resolve()))
    if (fault !== null && !isClosedByReader(fault)) throw lostOutput(fault)
  }
  return { output, end: progress.end, written }
}

/** Returns true if the other end of a pipe is closed, as after `siftd search films | head -1`. */
const isClosedByReader = ({ code = '' }: NodeJS.ErrnoException): boolean =>
  ['EPIPE', 'EOF', 'ECONNRESET'].includes(code)

const lostOutput = (error: NodeJS.ErrnoException): LaunchError =>
  isClosedByReader(error)
    ? new LaunchError('the standard output was closed', 1)
    : new LaunchError(`the standard output cannot be written: ${error.code}`, 1)

/** Resolves when a stream can accept more or is closed. */
const drained = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      for (const event of ['drain', 'close', 'error']) stream.off(event, done)
      resolve()
    }
    for (const event of ['drain', 'close', 'error']) stream.once(event, done)
  })

export type Colour = 'red' | 'yellow' | 'green' | 'dim' | 'bold'

/** Colours a text if the output has colours. */
export const coloured = (
  { hasColors }: Pick<CommandOutput, 'hasColors'>,
  colour: Colour,
  text: string,
): string => (hasColors ? styleText(colour, text) : text)

// The codes of `coloured`. They are harmless, also in texts of other instances.
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
const colourCodes = /(\u001b\[(?:1|2|22|31|32|33|39)m)/

/** Removes control characters other than colours from a text. */
const printableParts = (text: string): string =>
  text
    .split(colourCodes)
    .map((part, at) => (at % 2 === 1 ? part : printable(part)))
    .join('')

/** Formats rows as lines with aligned columns. The first row has the titles. */
export function tableLines(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
