import type { ErrorCode } from '../errors/index.js'
import {
  badValue,
  integer,
  list,
  type MembersMax,
  mapOf,
  refined,
  sentOnly,
  setting,
  shape,
  string,
  type Type,
} from '../parse/index.js'

export const strings: Type<readonly string[]> = list(string)

/** Ascending by UTF-8 bytes. */
export function byBytes(left: string, right: string): number {
  if (left === right) return 0
  // Only where surrogates meet the characters above them do UTF-16 and UTF-8 order differently.
  if (surrogate.test(left) || surrogate.test(right))
    return Buffer.compare(Buffer.from(left), Buffer.from(right))
  return left < right ? -1 : 1
}

const surrogate = /[\ud800-\udfff]/

/** Sorted by bytes, each once. */
export const asSet = (words: readonly string[]): readonly string[] => [...new Set(words)].sort(byBytes)

/** The same object with its keys in byte order. */
export const sortedKeys = <T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(record).sort(([left], [right]) => byBytes(left, right)))

/** An array taken as a set: sorted, each once. */
export const stringSet: Type<readonly string[]> = refined(strings, asSet)

/** An object whose keys are names the user chose, in byte order. */
export function byName<T>(item: Type<T>, limit?: MembersMax): Type<Readonly<Record<string, T>>> {
  return refined(mapOf(item, limit), (map) => sortedKeys(Object.fromEntries(map)))
}

/** A whole number from 1 on. */
export const positive: Type<number> = refined(
  integer(),
  (count, at) => {
    if (count === 0) throw badValue('a non-zero integer was expected, found `0`', at)
    return count
  },
  { minimum: 1 },
)

/** Types by the name of their field. */
export type TypesByName = Readonly<Record<string, Type<unknown>>>
type PartialOf<T extends TypesByName> = {
  readonly [K in keyof T]?: T[K] extends Type<infer V> ? V | null : never
}

/**
 * An object that is merged into a stored one: what was sent, in the order of `types`; null resets a key.
 * All mistakes inside carry `code`.
 */
export function partial<const T extends TypesByName>(code: ErrorCode, types: T): Type<PartialOf<T>> {
  const fields = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, setting(type, code)]))
  return refined(shape(fields), (values) => sentOnly(values) as PartialOf<T>)
}
