/** Checks the types of JSON values in an archive. */
import { ArchiveError } from './archive-error.js'

export type Fields = Readonly<Record<string, unknown>>

/** Uids of tasks and batches are unsigned 32-bit numbers. */
const UID_MAX = 0xffff_ffff

/** Returns the fields of an object. @param at its position in the archive @throws ArchiveError with the position */
export function fieldsOf(value: unknown, at: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw unexpected(value, at, 'an object')
}

export function textOf(value: unknown, at: string): string {
  if (typeof value === 'string') return value
  throw unexpected(value, at, 'a string')
}

export function booleanOf(value: unknown, at: string): boolean {
  if (typeof value === 'boolean') return value
  throw unexpected(value, at, 'a boolean')
}

export function uidOf(value: unknown, at: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= UID_MAX) return value
  throw unexpected(value, at, 'an unsigned 32-bit number')
}

/** Returns an RFC 3339 date unchanged. */
export function dateOf(value: unknown, at: string): string {
  const text = textOf(value, at)
  if (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(text) &&
    !Number.isNaN(Date.parse(text))
  )
    return text
  throw unexpected(value, at, 'an RFC 3339 date')
}

/** An index uid: 1 to 400 characters. Source: the API. */
export function indexUidOf(value: unknown, at: string): string {
  const text = textOf(value, at)
  if (/^[A-Za-z0-9_-]{1,400}$/.test(text)) return text
  throw unexpected(value, at, 'the uid of an index')
}

export function listOf<T>(value: unknown, at: string, item: (value: unknown, at: string) => T): readonly T[] {
  if (Array.isArray(value)) return value.map((one, position) => item(one, `${at}[${position}]`))
  throw unexpected(value, at, 'an array')
}

export function oneOf<T extends string>(value: unknown, at: string, names: readonly T[]): T {
  const found = names.find((name) => name === value)
  if (found !== undefined) return found
  throw unexpected(value, at, `one of ${names.join(', ')}`)
}

/** Returns null for null and undefined, else the result of `read`. */
export const orNull = <T>(value: unknown, at: string, read: (value: unknown, at: string) => T): T | null =>
  value === null || value === undefined ? null : read(value, at)

/** Returns the entries of an object, each value as returned by `read`. */
export function mapOf<T>(
  value: unknown,
  at: string,
  read: (value: unknown, at: string) => T,
): Readonly<Record<string, T>> {
  const entries = Object.entries(fieldsOf(value, at))
  return Object.fromEntries(entries.map(([key, one]) => [key, read(one, `${at}.${key}`)]))
}

const SHOWN_CHARS_MAX = 100

export function unexpected(value: unknown, at: string, expected: string): ArchiveError {
  const found = value === undefined ? 'nothing' : `\`${JSON.stringify(value).slice(0, SHOWN_CHARS_MAX)}\``
  return new ArchiveError(`${at}: expected ${expected}, found ${found}`)
}
