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

/** Sorts texts by their UTF-8 bytes. */
function byBytes(texts: string[]): string[] {
  // JavaScript sorts by UTF-16. The order differs from UTF-8 only if a text has surrogates: they encode the code points
  // above all others.
  return texts.some((text) => surrogate.test(text))
    ? texts.sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
    : texts.sort()
}

const surrogate = /[\ud800-\udfff]/

/** Returns the distinct words, sorted by bytes. */
export const asSet = (words: readonly string[]): readonly string[] => byBytes([...new Set(words)])

/** Returns an object with these entries, with keys sorted by bytes. */
export const sortedKeys = <T>(map: ReadonlyMap<string, T>): Readonly<Record<string, T>> =>
  Object.fromEntries(byBytes([...map.keys()]).map((key) => [key, map.get(key) as T]))

/** An array that represents a set. The value is sorted and has no duplicates. */
export const stringSet: Type<readonly string[]> = refined(strings, asSet)

/** An object whose keys are names chosen by the user, sorted by bytes. */
export function byName<T>(item: Type<T>, limit?: MembersMax): Type<Readonly<Record<string, T>>> {
  return refined(mapOf(item, limit), sortedKeys)
}

/** An integer of at least 1, and at most `max` if it is given. */
export const positiveUpTo = (max?: number): Type<number> =>
  refined(
    integer(max),
    (count, at) => {
      if (count === 0) throw badValue('a non-zero integer was expected, found `0`', at)
      return count
    },
    { minimum: 1 },
  )

/** An integer of at least 1. */
export const positive: Type<number> = positiveUpTo()

/** Types by the names of their fields. */
export type TypesByName = Readonly<Record<string, Type<unknown>>>
type PartialOf<T extends TypesByName> = {
  readonly [K in keyof T]?: T[K] extends Type<infer V> ? V | null : never
}

/**
 * An object that is merged into a stored object. The value has the sent members, in the order of `types`; null resets a
 * member. All errors inside have the code `code`.
 */
export function partial<const T extends TypesByName>(code: ErrorCode, types: T): Type<PartialOf<T>> {
  const fields = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, setting(type, code)]))
  return refined(shape(fields), (values) => sentOnly(values) as PartialOf<T>)
}
