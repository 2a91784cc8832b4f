/**
 * Forms: pairs of functions that write a value to an archive and read it back.
 *
 * Reading may accept more than writing produces, because other services write archives too.
 */
import {
  booleanOf,
  dateOf,
  type Fields,
  fieldsOf,
  listOf,
  mapOf,
  oneOf,
  orNull,
  textOf,
  uidOf,
  unexpected,
} from './fields.js'

export interface Form<T> {
  /** Converts the value to JSON; undefined omits its field. */
  write(value: T): unknown
  /** Reads the value from JSON. @param at its position in the archive, for messages @throws ArchiveError */
  read(value: unknown, at: string): T
}

/** A value that is written unchanged. */
export const unchanged = <T>(read: (value: unknown, at: string) => T): Form<T> => ({
  write: (value) => value,
  read,
})

export const text = unchanged(textOf)
export const boolean = unchanged(booleanOf)
export const date = unchanged(dateOf)
export const uid = unchanged(uidOf)
export const object = unchanged(fieldsOf)
export const number = unchanged((value, at): number => {
  if (typeof value === 'number') return value
  throw unexpected(value, at, 'a number')
})
/** A number of bytes, which may exceed 32 bits. */
export const byteCount = unchanged((value, at): number => {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw unexpected(value, at, 'a number of bytes')
})
export const url = unchanged((value, at): string => {
  const found = textOf(value, at)
  if (URL.canParse(found)) return found
  throw unexpected(value, at, 'an absolute URL')
})
/** Any JSON; null if the field is absent. */
export const anything = unchanged((value): unknown => value ?? null)

export const choice = <T extends string>(names: readonly T[]): Form<T> =>
  unchanged((value, at) => oneOf(value, at, names))

/** A value or null. Other writers may omit the field instead of writing null. */
export const nullable = <T>({ write, read }: Form<T>): Form<T | null> => ({
  write: (value) => (value === null ? null : write(value)),
  read: (value, at) => orNull(value, at, read),
})

/** A field that may be absent. Other writers may write null instead of omitting it. */
export const optional = <T>({ write, read }: Form<T>): Form<T | undefined> => ({
  write: (value) => (value === undefined ? undefined : write(value)),
  read: (value, at) => orNull(value, at, read) ?? undefined,
})

/** A field that reads as `otherwise` if other writers omit it or write null. */
export const defaulted = <T>({ write, read }: Form<T>, otherwise: T): Form<T> => ({
  write,
  read: (value, at) => (value === undefined || value === null ? otherwise : read(value, at)),
})

export const list = <T>({ write, read }: Form<T>): Form<readonly T[]> => ({
  write: (values) => values.map(write),
  read: (value, at) => listOf(value, at, read),
})

/** An object with any keys. */
export const map = <T>({ write, read }: Form<T>): Form<Readonly<Record<string, T>>> => ({
  write: (values) => Object.fromEntries(Object.entries(values).map(([key, one]) => [key, write(one)])),
  read: (value, at) => mapOf(value, at, read),
})

/**
 * An object with known keys, written in the order of `fields`. Other keys are ignored.
 * @param names names in the archive of the fields that have another name there
 */
export function record<T extends object>(
  fields: { readonly [K in keyof Required<T>]: Form<T[K]> },
  names: { readonly [K in keyof T]?: string } = {},
): Form<T> {
  const forms = Object.entries(fields) as [keyof T & string, Form<unknown>][]
  const nameOf = (key: keyof T & string): string => names[key] ?? key
  return {
    write: (value) => given(forms.map(([key, form]) => [nameOf(key), form.write(value[key])])),
    read: (value, at) => {
      const found: Fields = fieldsOf(value, at)
      return given(
        forms.map(([key, form]) => {
          const name = nameOf(key)
          return [key, form.read(Object.hasOwn(found, name) ? found[name] : undefined, `${at}.${name}`)]
        }),
      ) as T
    },
  }
}

const given = (entries: readonly (readonly [string, unknown])[]): Fields =>
  Object.fromEntries(entries.filter(([, value]) => value !== undefined))
