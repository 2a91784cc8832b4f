/** The address to listen on. Port 0 means any free port. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** The machine resources that some defaults depend on. */
export interface Machine {
  /** Bytes of memory that this process may use, within the limit of its container. */
  readonly memoryBytes: number
  readonly cores: number
}

/** Values that defaults depend on. */
export interface Basis extends Machine {
  /** Bytes that indexing may use: the option `maxIndexingMemory`, or its default. */
  readonly indexingMemoryBytes: number
}

/** A reason why an option has no effect. Logged at the start if the option is given. */
export interface NoEffect {
  /** The engine without effect. Absent: both engines. */
  readonly on?: 'fallback'
  /** The rest of a sentence after `has no effect: `. */
  readonly why: string
}

/** The part of an option's description that is independent of its kind of value. */
export interface About {
  /** Purpose of the option, in a line or two of the help. */
  readonly help: string
  /** A value as written on the command line; empty for a switch. */
  readonly example: string
  /** The default as text, if it depends on the machine. */
  readonly defaultInWords?: string
  /** Additional names on the command line, in the environment and in the file. */
  readonly aliases?: readonly string[]
  /** Like `aliases`: names in older versions of the API. Logged at the start if one is given. */
  readonly formerNames?: readonly string[]
  /** The name of the variable without its prefix. Default: derived from the option name. */
  readonly envName?: string
  /** A variable without a prefix, read after the prefixed ones. */
  readonly foreignVariable?: string
  /** True if the option is an environment variable only, without a flag and a key in the file. */
  readonly isVariable?: true
  /** True if the value is never shown. It can also be read from a separate file or a systemd credential. */
  readonly isSecret?: true
  /** Another option that must be given together with this one. */
  readonly requires?: string
  /** Another option that must not be given together with this one. */
  readonly excludes?: string
  readonly noEffect?: NoEffect
}

/** A launch option: how to read it, and its default. */
export interface LaunchOption<T> extends About {
  /** The name of the value in the help; null for a switch, which has no value on the command line. */
  readonly placeholder: string | null
  /** The accepted values, for error messages. */
  readonly accepts: string
  readonly fallback: (basis: Basis) => T
  /** Parses a text; undefined: malformed. */
  readonly fromText: (text: string) => T | undefined
  /** Converts a value of the configuration file; undefined: malformed. */
  readonly fromToml: (value: unknown) => T | undefined
  /** The value if the option is given without a value. Absent: the option requires a value. */
  readonly bare?: T
}

/** Rows of the table by option name. */
export type Rows = Readonly<Record<string, LaunchOption<unknown>>>
