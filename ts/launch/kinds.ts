/** Kinds of option values, read from text and from the configuration file. */
import { isIP } from 'node:net'
import { isHttpUrl, readBytes } from '../parse/index.js'
import { logLevels, logModules, readLogTarget } from './log-target.js'
import type { About, Address, Basis, LaunchOption } from './option.js'

const textOr =
  <T>(fromText: (text: string) => T | undefined) =>
  (value: unknown): T | undefined =>
    typeof value === 'string' ? fromText(value) : undefined

const numberOr =
  <T>(fromText: (text: string) => T | undefined) =>
  (value: unknown): T | undefined =>
    typeof value === 'string' || typeof value === 'number' ? fromText(String(value)) : undefined

/** A switch. On the command line its flag turns it on; environment and file give it a value. */
export function toggle(about: Omit<About, 'example'>): LaunchOption<boolean> {
  return {
    example: '',
    ...about,
    placeholder: null,
    accepts: '`true` or `false`',
    fallback: () => false,
    fromText: (text) => !['', '0', 'false', 'f', 'no', 'n', 'off'].includes(text.trim().toLowerCase()),
    fromToml: (value) => (typeof value === 'boolean' ? value : undefined),
  }
}

/** A non-empty text. @param placeholder the name of the value in the help */
export function text<T extends string | null>(
  placeholder: string,
  fallback: T,
  about: About,
): LaunchOption<string | T> {
  const fromText = (given: string): string | undefined => (given === '' ? undefined : given)
  return {
    ...about,
    placeholder,
    accepts: 'a non-empty text',
    fallback: () => fallback,
    fromText,
    fromToml: textOr(fromText),
  }
}

/** A text among `accepted`, in any case if `anyCase`. The value has the case of `accepted`. */
export function choice<T extends string, D extends T | null>(
  accepted: readonly T[],
  fallback: D,
  { anyCase = false, ...about }: About & { readonly anyCase?: boolean },
): LaunchOption<T | D> {
  const fold = (word: string): string => (anyCase ? word.toLowerCase() : word)
  const fromText = (given: string): T | undefined => accepted.find((word) => fold(word) === fold(given))
  return {
    ...about,
    placeholder: accepted.join('|'),
    accepts: `one of ${quoted(accepted)}`,
    fallback: () => fallback,
    fromText,
    fromToml: textOr(fromText),
  }
}

/** Log levels, for all modules or for single ones, see `readLogTarget`. The value has levels in upper case. */
export function logTarget(fallback: string, about: About): LaunchOption<string> {
  const fromText = (given: string): string | undefined => {
    const target = readLogTarget(given, 'info')
    if (target === null || target.unknown.length > 0) return undefined
    return given
      .split(',')
      .map((part) => part.slice(0, part.indexOf('=') + 1) + part.slice(part.indexOf('=') + 1).toUpperCase())
      .join()
  }
  return {
    ...about,
    placeholder: 'level',
    accepts: `a level (${quoted(logLevels)}), or a list with \`module=level\` of the modules ${quoted(logModules)}`,
    fallback: () => fallback,
    fromText,
    fromToml: textOr(fromText),
  }
}

/** Any of the texts `accepted`, separated by commas; a list in the file. */
export function choices<T extends string>(accepted: readonly T[], about: About): LaunchOption<readonly T[]> {
  const fromText = (given: string): readonly T[] | undefined => {
    const words = partsOf(given)
    return words.every((word): word is T => accepted.some((one) => one === word)) ? words : undefined
  }
  return {
    ...about,
    placeholder: 'list',
    accepts: `any of ${quoted(accepted)}, separated by commas`,
    fallback: () => [],
    fromText,
    fromToml: listOr(fromText),
  }
}

/** The bounds of a number. Larger numbers than `countsAtMost` are reduced to it. */
interface Bounds {
  readonly min: number
  readonly countsAtMost?: number
}

/** A whole number. */
export function count<T extends number | null>(
  { min, countsAtMost = Number.MAX_SAFE_INTEGER }: Bounds,
  fallback: T,
  about: About,
): LaunchOption<number | T> {
  const fromText = (given: string): number | undefined => {
    const number = /^\d+$/.test(given) ? Number(given) : Number.NaN
    return number >= min ? Math.min(number, countsAtMost) : undefined
  }
  return {
    ...about,
    placeholder: 'number',
    accepts: `a whole number of at least ${min}`,
    fallback: () => fallback,
    fromText,
    fromToml: numberOr(fromText),
  }
}

/** A number from 0 to 1. */
export function ratio(fallback: number, about: About): LaunchOption<number> {
  const fromText = (given: string): number | undefined =>
    /^(0|1|0?\.\d{1,15}|[01]\.0*|0\.\d{1,15})$/.test(given) ? Number(given) : undefined
  return {
    ...about,
    placeholder: 'ratio',
    accepts: 'a number from 0 to 1',
    fallback: () => fallback,
    fromText,
    fromToml: numberOr(fromText),
  }
}

/** Headers of requests: `name=value`, separated by commas. */
export function headers(about: About): LaunchOption<Readonly<Record<string, string>>> {
  const fromText = (given: string): Readonly<Record<string, string>> | undefined => {
    const pairs = partsOf(given).map((part): readonly [string, string] => {
      const at = part.indexOf('=')
      return [part.slice(0, Math.max(at, 0)).trim().toLowerCase(), part.slice(at + 1).trim()]
    })
    const areValid = pairs.every(
      ([name, value]) => /^[!#$%&'*+.^_`|~\w-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value),
    )
    return areValid ? Object.fromEntries(pairs) : undefined
  }
  return {
    ...about,
    placeholder: 'list',
    accepts: '`name=value`, separated by commas',
    fallback: () => ({}),
    fromText,
    fromToml: textOr(fromText),
  }
}

/** Seconds of a timer. Values above the longest timer of Node.js, 24 days, are reduced to it. */
export function seconds(fallback: number, about: About): LaunchOption<number> {
  const option = count({ min: 1, countsAtMost: TIMER_SECONDS_MAX }, fallback, about)
  return { ...option, placeholder: 'seconds', accepts: 'a whole number of seconds of at least 1' }
}

/** A longer timer of Node.js would fire at once. */
const TIMER_SECONDS_MAX = Math.floor((2 ** 31 - 1) / 1000)

/** An amount of memory or data, in bytes. */
export function bytes(fallback: (basis: Basis) => number, about: About): LaunchOption<number> {
  return {
    ...about,
    placeholder: 'bytes',
    accepts: 'bytes as a whole number or with a unit, such as `20MB` or `1 GiB`',
    fallback,
    fromText: readBytes,
    fromToml: numberOr(readBytes),
  }
}

/** A number of threads; null for an empty text or `unlimited`. The caller bounds it by the number of cores. */
export function threads(fallback: (basis: Basis) => number, about: About): LaunchOption<number | null> {
  const fromText = (given: string): number | null | undefined => {
    if (given === '' || given === 'unlimited') return null
    return /^\d+$/.test(given) && Number(given) >= 1 ? Number(given) : undefined
  }
  return {
    ...about,
    placeholder: 'number',
    accepts: 'a whole number of at least 1, or `unlimited`',
    fallback,
    fromText,
    fromToml: numberOr(fromText),
  }
}

/** An address `host:port`, with an IPv6 host in brackets. */
export function address(fallback: Address, about: About): LaunchOption<Address> {
  const fromText = (given: string): Address | undefined => {
    const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(given) ?? []
    const host = bracketed ?? plain
    const port = Number(digits)
    return host === undefined || port > 65_535 ? undefined : { host, port }
  }
  return {
    ...about,
    placeholder: 'host:port',
    accepts: '`host:port`, such as `localhost:7700` or `[::1]:7700`',
    fallback: () => fallback,
    fromText,
    fromToml: textOr(fromText),
  }
}

/** An absolute http or https URL. */
export function url<T extends string | null>(fallback: T, about: About): LaunchOption<string | T> {
  const fromText = (given: string): string | undefined => (isHttpUrl(given) ? given : undefined)
  return {
    ...about,
    placeholder: 'url',
    accepts: 'an absolute http or https URL',
    fallback: () => fallback,
    fromText,
    fromToml: textOr(fromText),
  }
}

/** Seconds between two snapshots; a day if the option has no value; null: no snapshots. */
export function schedule(about: About): LaunchOption<number | null> {
  const day = 86_400
  const fromText = (given: string): number | undefined =>
    /^\d+$/.test(given) && Number(given) >= 1 && Number.isSafeInteger(Number(given))
      ? Number(given)
      : undefined
  return {
    ...about,
    placeholder: 'seconds',
    accepts: 'a whole number of seconds of at least 1',
    fallback: () => null,
    fromText,
    fromToml: (value) => {
      if (typeof value === 'boolean') return value ? day : null
      return typeof value === 'number' ? fromText(String(value)) : undefined
    },
    bare: day,
  }
}

/** A position of the log: the number of a record, or milliseconds since 1970. */
export type Moment = { readonly seq: number } | { readonly date: number }

/** A position of the log in a bucket; null: its end. */
export function moment(about: About): LaunchOption<Moment | null> {
  const fromText = (given: string): Moment | undefined => {
    if (/^\d{1,15}$/.test(given)) return { seq: Number(given) }
    const isDate = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(given)
    const date = isDate ? Date.parse(given) : Number.NaN
    return Number.isNaN(date) ? undefined : { date }
  }
  return {
    ...about,
    placeholder: 'record|date',
    accepts: 'the number of a log record, or a date such as `2026-01-31T12:00:00Z`',
    fallback: () => null,
    fromText,
    fromToml: (value) => (value instanceof Date ? { date: value.getTime() } : numberOr(fromText)(value)),
  }
}

/** Networks that outgoing calls may reach in addition to public ones. `any` allows all addresses. */
export function networks(about: About): LaunchOption<'any' | readonly string[]> {
  const fromText = (given: string): 'any' | readonly string[] | undefined => {
    const parts = partsOf(given)
    if (parts.length === 1 && parts[0] === 'any') return 'any'
    return parts.every(isNetwork) ? parts : undefined
  }
  return {
    ...about,
    placeholder: 'list',
    accepts: '`any`, or networks such as `10.0.0.0/8` separated by commas',
    fallback: () => [],
    fromText,
    fromToml: listOr(fromText),
  }
}

/** Origins of web pages, or `*` for any. Each is kept as browsers send it, such as `https://example.com`. */
export function origins(about: About): LaunchOption<'*' | readonly string[]> {
  const fromText = (given: string): '*' | readonly string[] | undefined => {
    const parts = partsOf(given)
    if (parts.length === 1 && parts[0] === '*') return '*'
    return parts.every((part) => isHttpUrl(part) && new URL(part).pathname === '/')
      ? parts.map((part) => new URL(part).origin)
      : undefined
  }
  return {
    ...about,
    placeholder: 'list',
    accepts: '`*`, or origins such as `https://example.com` separated by commas',
    fallback: () => [],
    fromText,
    fromToml: listOr(fromText),
  }
}

const partsOf = (given: string): readonly string[] =>
  given
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

const listOr =
  <T>(fromText: (text: string) => T | undefined) =>
  (value: unknown): T | undefined => {
    if (!Array.isArray(value)) return textOr(fromText)(value)
    return value.every((item) => typeof item === 'string') ? fromText(value.join(',')) : undefined
  }

const quoted = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ')

function isNetwork(part: string): boolean {
  const [ip = '', prefix, ...rest] = part.split('/')
  const family = isIP(ip)
  if (family === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
}
