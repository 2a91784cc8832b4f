import { parseArgs } from 'node:util'
import { LaunchError } from '../launch/index.js'

/** A command of the program beside the server: `siftd NAME …`. */
export interface Command {
  /** What `siftd NAME --help` prints. */
  readonly help: string
  /**
   * @returns the exit code: 0 if all is equal, 1 if something differs
   * @throws LaunchError for wrong usage, PeerError for an instance that fails or refuses
   */
  run(args: readonly string[], output: CommandOutput): Promise<0 | 1>
}

/** Where a command reports. */
export interface CommandOutput {
  /** Prints a line of the result. */
  line(text: string): void
  /** Shows how far a long step is. */
  progress(doing: string, finished: number, total: number): void
}

/** The flags that a command takes, by name without dashes. */
export type FlagOptions = Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly multiple?: boolean }>
>

/** The values of flags that were given. */
export type FlagValues<T extends FlagOptions> = {
  readonly [K in keyof T]?: T[K] extends { readonly multiple: true }
    ? readonly string[]
    : T[K] extends { readonly type: 'string' }
      ? string
      : boolean
}

/**
 * The flags and other arguments of a command.
 * @param argumentsMax number of arguments that are no flags
 * @throws LaunchError with exit code 2
 */
export function readFlags<const T extends FlagOptions>(
  command: string,
  args: readonly string[],
  options: T,
  argumentsMax = 0,
): { readonly values: FlagValues<T>; readonly positionals: readonly string[] } {
  const { values, positionals } = parsed(command, args, options)
  const more = positionals[argumentsMax]
  if (more !== undefined)
    throw new LaunchError(`${command}: unknown argument \`${more}\` (see siftd ${command} --help)`, 2)
  return { values: values as FlagValues<T>, positionals }
}

function parsed(command: string, args: readonly string[], options: FlagOptions) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true })
  } catch (error) {
    // The message may go on with advice about arguments that begin with a dash.
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/)
    throw new LaunchError(`${command}: ${reason} (see siftd ${command} --help)`, 2)
  }
}
