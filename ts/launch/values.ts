import { isIP } from 'node:net'
import { isHttpUrl, readBytes } from '../parse/index.js'

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

/** One launch option: how to read it, and its default. */
export interface LaunchOption<T> {
  /** The name of the value in the help; null for a switch, which has no value on the command line. */
  readonly placeholder: string | null
  /** The accepted values, for error messages. */
  readonly accepts: string
  readonly help: string
  readonly fallback: (machine: Machine) => T
  /** The value of a text; undefined: malformed. */
  readonly fromText: (text: string) => T | undefined
  /** A value of the configuration file; undefined: malformed. */
  readonly fromToml: (value: unknown) => T | undefined
  /** The value if the option is given without one. Absent: the option requires a value. */
  readonly bare?: T
  /** Further names on the command line, in the environment and in the file. */
  readonly aliases?: readonly string[]
  /** The name of the variable without its prefix. Default: derived from the name of the option. */
  readonly envName?: string
  /** Another option that must be given along with this one. */
  readonly requires?: string
  /** Another option that must not be given along with this one. */
  readonly excludes?: string
}

const textOr =
  <T>(fromText: (text: string) => T | undefined) =>
  (value: unknown): T | undefined =>
    typeof value === 'string' ? fromText(value) : undefined

const numberOr =
  <T>(fromText: (text: string) => T | undefined) =>
  (value: unknown): T | undefined =>
    typeof value === 'string' || typeof value === 'number' ? fromText(String(value)) : undefined

/** A switch. On the command line it is on if it is named; the environment and the file give it a value. */
export function toggle(help: string, more: Partial<LaunchOption<boolean>> = {}): LaunchOption<boolean> {
  return {
    placeholder: null,
    accepts: '`true` or `false`',
    help,
    fallback: () => false,
    fromText: (text) => !['', '0', 'false', 'f', 'no', 'n', 'off'].includes(text.trim().toLowerCase()),
    fromToml: (value) => (typeof value === 'boolean' ? value : undefined),
    ...more,
  }
}

export function text(placeholder: string, fallback: string, help: string): LaunchOption<string>
export function text(
  placeholder: string,
  fallback: null,
  help: string,
  more?: Partial<LaunchOption<string | null>>,
): LaunchOption<string | null>
export function text(
  placeholder: string,
  fallback: string | null,
  help: string,
  more: Partial<LaunchOption<string | null>> = {},
): LaunchOption<string | null> {
  const fromText = (given: string): string | undefined => (given === '' ? undefined : given)
  return {
    placeholder,
    accepts: 'a non-empty text',
    help,
    fallback: () => fallback,
    fromText,
    fromToml: textOr(fromText),
    ...more,
  }
}

/** One of the texts `accepted`, in any case if `anyCase`. The value is spelled as in `accepted`. */
export function choice<T extends string>(
  accepted: readonly T[],
  fallback: T,
  help: string,
  more: { readonly anyCase?: boolean; readonly aliases?: readonly string[] } = {},
): LaunchOption<T> {
  const fold = (word: string): string => (more.anyCase ? word.toLowerCase() : word)
  const fromText = (given: string): T | undefined => accepted.find((word) => fold(word) === fold(given))
  return {
    placeholder: accepted.join('|'),
    accepts: `one of ${accepted.map((word) => `\`${word}\``).join(', ')}`,
    help,
    fallback: () => fallback,
    fromText,
    fromToml: textOr(fromText),
    ...(more.aliases ? { aliases: more.aliases } : {}),
  }
}

/** An integer of at least `min`. */
export function count<T extends number | null>(
  min: number,
  fallback: T,
  help: string,
): LaunchOption<number | T> {
  const fromText = (given: string): number | undefined => {
    const number = /^\d+$/.test(given) ? Number(given) : Number.NaN
    return Number.isSafeInteger(number) && number >= min ? number : undefined
  }
  return {
    placeholder: 'number',
    accepts: `a whole number of at least ${min}`,
    help,
    fallback: () => fallback,
    fromText,
    fromToml: numberOr(fromText),
  }
}

/** An amount of memory or data, in bytes. */
export function bytes(fallback: (machine: Machine) => number, help: string): LaunchOption<number> {
  return {
    placeholder: 'bytes',
    accepts: 'bytes as a whole number or with a unit, such as `20MB` or `1 GiB`',
    help,
    fallback,
    fromText: readBytes,
    fromToml: numberOr(readBytes),
  }
}

/** A number of threads; null for an empty text or `unlimited`. The caller bounds it by the number of cores. */
export function threads(fallback: (machine: Machine) => number, help: string): LaunchOption<number | null> {
  const fromText = (given: string): number | null | undefined => {
    if (given === '' || given === 'unlimited') return null
    return /^\d+$/.test(given) && Number(given) >= 1 ? Number(given) : undefined
  }
  return {
    placeholder: 'number',
    accepts: 'a whole number of at least 1, or `unlimited`',
    help,
    fallback,
    fromText,
    fromToml: numberOr(fromText),
  }
}

/** An address `host:port`, with an IPv6 host in brackets. */
export function address(fallback: Address, help: string): LaunchOption<Address> {
  const fromText = (given: string): Address | undefined => {
    const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(given) ?? []
    const host = bracketed ?? plain
    const port = Number(digits)
    return host === undefined || port > 65_535 ? undefined : { host, port }
  }
  return {
    placeholder: 'host:port',
    accepts: '`host:port`, such as `localhost:7700` or `[::1]:7700`',
    help,
    fallback: () => fallback,
    fromText,
    fromToml: textOr(fromText),
  }
}

export function url(help: string): LaunchOption<string | null> {
  const fromText = (given: string): string | undefined => (isHttpUrl(given) ? given : undefined)
  return {
    placeholder: 'url',
    accepts: 'an absolute http or https URL',
    help,
    fallback: () => null,
    fromText,
    fromToml: textOr(fromText),
  }
}

/** Seconds between two snapshots; a day if the option has no value; null: no snapshots. */
export function schedule(help: string): LaunchOption<number | null> {
  const day = 86_400
  const fromText = (given: string): number | undefined =>
    /^\d+$/.test(given) && Number(given) >= 1 && Number.isSafeInteger(Number(given))
      ? Number(given)
      : undefined
  return {
    placeholder: 'seconds',
    accepts: 'a whole number of seconds of at least 1',
    help,
    fallback: () => null,
    fromText,
    fromToml: (value) => {
      if (typeof value === 'boolean') return value ? day : null
      return typeof value === 'number' ? fromText(String(value)) : undefined
    },
    bare: day,
  }
}

/** Networks that outgoing calls may reach in addition to public ones. `any` allows all addresses. */
export function networks(help: string): LaunchOption<'any' | readonly string[]> {
  const fromText = (given: string): 'any' | readonly string[] | undefined => {
    const parts = given
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
    if (parts.length === 1 && parts[0] === 'any') return 'any'
    return parts.every(isNetwork) ? parts : undefined
  }
  return {
    placeholder: 'list',
    accepts: '`any`, or networks such as `10.0.0.0/8` separated by commas',
    help,
    fallback: () => [],
    fromText,
    fromToml: (value) => {
      if (!Array.isArray(value)) return textOr(fromText)(value)
      return value.every((item) => typeof item === 'string') ? fromText(value.join(',')) : undefined
    },
  }
}

function isNetwork(part: string): boolean {
  const [ip = '', prefix, ...rest] = part.split('/')
  const family = isIP(ip)
  if (family === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}
