/** Where a command reports: results to the standard output, all else to the standard error. */
import { styleText } from 'node:util'
import { LaunchError } from '../launch/index.js'
import { printable } from '../parse/index.js'
import { openProgress } from './progress.js'

export interface CommandOutput {
  /** Whether the standard output is a terminal that shows colours. The variable NO_COLOR denies it. */
  readonly hasColors: boolean
  /** Prints a line of the result. */
  line(text: string): void
  /** Prints a part of a long result. Resolves when more can be taken. */
  write(part: string | Uint8Array): Promise<void>
  /** Prints a line beside the result. */
  note(text: string): void
  /**
   * Shows how far a long step is.
   * @param total 0: unknown
   * @param detail is shown behind the bar of a terminal
   */
  progress(doing: string, finished: number, total: number, detail?: string): void
  /** Makes the exit code 1: what the command was asked about is not as it should be. */
  finding(): void
}

const nothing = (): void => undefined

/** Prints nothing, for a command that is only described or called by other code. */
export const silentOutput: CommandOutput = {
  hasColors: false,
  line: nothing,
  write: async () => undefined,
  note: nothing,
  progress: nothing,
  finding: nothing,
}

/** The outputs of this process. `end` erases what only shows progress. */
export interface Terminal {
  readonly output: CommandOutput
  end(): void
}

export async function openTerminal(): Promise<Terminal> {
  const { stdout, stderr } = process
  const progress = await openProgress(stderr, (doing, finished, total) =>
    stderr.write(`${doing} ${finished}${total === 0 ? '' : ` of ${total}`}\n`),
  )
  const write = async (part: string | Uint8Array): Promise<void> => {
    progress.end()
    if (stdout.destroyed) throw new LaunchError('the standard output was closed', 1)
    // A file or a pipe gets every byte.
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
  return { output, end: progress.end }
}

/** Resolves when a stream takes more, or never will. */
const drained = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      for (const event of ['drain', 'close', 'error']) stream.off(event, done)
      resolve()
    }
    for (const event of ['drain', 'close', 'error']) stream.once(event, done)
  })

export type Colour = 'red' | 'yellow' | 'green' | 'dim' | 'bold'

/** A text in a colour, if the output shows any. */
export const coloured = (
  { hasColors }: Pick<CommandOutput, 'hasColors'>,
  colour: Colour,
  text: string,
): string => (hasColors ? styleText(colour, text) : text)

// The codes of `coloured`, which are harmless wherever they come from.
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
const colourCodes = /(\u001b\[(?:1|2|22|31|32|33|39)m)/

/** The text with its colours, and without other control characters. */
export const printableParts = (text: string): string =>
  text
    .split(colourCodes)
    .map((part, at) => (at % 2 === 1 ? part : printable(part)))
    .join('')

/** Rows as lines of aligned columns, the first one being their titles. */
export function tableLines(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
