/** The address to listen on. Port 0 stands for any free one. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** The resources that some defaults depend on. */
export interface Machine {
  /** Bytes of memory that this process may use, by the limit of its container. */
  readonly memoryBytes: number
  readonly cores: number
}

/** What defaults depend on. */
export interface Basis extends Machine {
  /** Bytes that indexing may use: the option `maxIndexingMemory`, or its default. */
  readonly indexingMemoryBytes: number
}

/** A reason why an option has no effect, which the log tells at the start if the option is given. */
export interface NoEffect {
  /** The engine on which it has none. Absent: it has none on either. */
  readonly on?: 'fallback'
  /** The part of a sentence after `has no effect: `. */
  readonly why: string
}

/** What a row of the table says about its option, whatever the kind of its value. */
export interface About {
  /** What the option is for, in a line or two of the help. */
  readonly help: string
  /** A value as it is written on the command line; `` for a switch. */
  readonly example: string
  /** The default in words, if it depends on the machine. */
  readonly defaultInWords?: string
  /** Further names on the command line, in the environment and in the file. */
  readonly aliases?: readonly string[]
  /** The name of the variable without its prefix. Default: derived from the name of the option. */
  readonly envName?: string
  /** A variable that is read as it is, without a prefix, after those with a prefix. */
  readonly foreignVariable?: string
  /** The option is a variable of the environment only, without a flag and a key in the file. */
  readonly isVariable?: true
  /** The value is shown nowhere, and can be read from a file of its own or a credential of systemd. */
  readonly isSecret?: true
  /** Another option that must be given along with this one. */
  readonly requires?: string
  /** Another option that must not be given along with this one. */
  readonly excludes?: string
  readonly noEffect?: NoEffect
}

/** One launch option: how to read it, and its default. */
export interface LaunchOption<T> extends About {
  /** The name of the value in the help; null for a switch, which has no value on the command line. */
  readonly placeholder: string | null
  /** The accepted values, for error messages. */
  readonly accepts: string
  readonly fallback: (basis: Basis) => T
  /** The value of a text; undefined: malformed. */
  readonly fromText: (text: string) => T | undefined
  /** A value of the configuration file; undefined: malformed. */
  readonly fromToml: (value: unknown) => T | undefined
  /** The value if the option is given without one. Absent: the option requires a value. */
  readonly bare?: T
}

/** Rows of the table by the name of their option. */
export type Rows = Readonly<Record<string, LaunchOption<unknown>>>
