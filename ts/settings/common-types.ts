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

/** The texts in the order of their UTF-8 bytes. */
function byBytes(texts: string[]): string[] {
  // Only where surrogates meet the characters above them do UTF-16, which the platform sorts by, and UTF-8 differ.
  return texts.some((text) => surrogate.test(text))
    ? texts.sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
    : texts.sort()
}

const surrogate = /[\ud800-\udfff]/

/** Sorted by bytes, each once. */
export const asSet = (words: readonly string[]): readonly string[] => byBytes([...new Set(words)])

/** An object of these entries with its keys in byte order. */
export const sortedKeys = <T>(map: ReadonlyMap<string, T>): Readonly<Record<string, T>> =>
  Object.fromEntries(byBytes([...map.keys()]).map((key) => [key, map.get(key) as T]))

/** An array taken as a set: sorted, each once. */
export const stringSet: Type<readonly string[]> = refined(strings, asSet)

/** An object whose keys are names the user chose, in byte order. */
export function byName<T>(item: Type<T>, limit?: MembersMax): Type<Readonly<Record<string, T>>> {
  return refined(mapOf(item, limit), sortedKeys)
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
