/** Lists of attributes: a name covers the fields below it, `*` covers all. */
import type { Json } from '../api/types.ts'
import { isObject, textsOf } from './changes.ts'

/** Returns true if `entry`, from a list of attributes, is `name` or a parent of it. */
const covers = (entry: string, name: string): boolean =>
  entry === '*' || entry === name || name.startsWith(`${entry}.`)

export const isCovered = (list: readonly string[], name: string): boolean =>
  list.some((entry) => covers(entry, name))

/** Returns true if an object with patterns covers the field. Only JSON can change it. */
export const isByPattern = (filterable: Json | undefined, name: string): boolean =>
  Array.isArray(filterable) &&
  filterable.some((rule) => isObject(rule) && textsOf(rule.attributePatterns).some((it) => fits(it, name)))

function fits(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}(\\..*)?$`, 's').test(name)
}

/** Adds an attribute to a list, in place of those below it. */
export const including = <T extends Json>(list: readonly T[], name: string): readonly (T | string)[] => [
  ...list.filter((entry) => typeof entry !== 'string' || !covers(name, entry)),
  name,
]

/**
 * Removes an attribute from a list. Replaces an entry that covers it by the other fields below that entry.
 * @param known names of all fields
 */
export function excluding<T extends Json>(
  list: readonly T[],
  name: string,
  known: readonly string[],
): readonly (T | string)[] {
  return list.flatMap((entry): (T | string)[] => {
    if (typeof entry !== 'string' || !covers(entry, name)) return [entry]
    if (entry === name) return []
    return [...excluding(childrenOf(entry, known), name, known)]
  })
}

/** Returns the fields one level below a field; the topmost fields for `*`. */
function childrenOf(entry: string, known: readonly string[]): readonly string[] {
  const prefix = entry === '*' ? '' : `${entry}.`
  const below = known.filter((name) => name.startsWith(prefix))
  return [...new Set(below.map((name) => prefix + name.slice(prefix.length).split('.', 1)[0]))]
}

/** Names that settings may use although no document has a field with this name. */
const reserved = new Set(['*', '_geo', '_geojson', '_vectors'])

/** Returns true if neither the field nor one above or below it is in a document. */
export const isUnknown = (name: string, known: ReadonlySet<string>): boolean =>
  !reserved.has(name) && !known.has(name) && ![...known].some((field) => field.startsWith(`${name}.`))
