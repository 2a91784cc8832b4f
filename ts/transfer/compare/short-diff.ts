/** Differences of two answers in one short line each. */
import { isDeepStrictEqual } from 'node:util'
import type { Difference } from './differences.js'
import { IDS_SHOWN, MEMBERS_SHOWN } from './limits.js'

/** Returns what differs, without what is equal. */
export function shortDiff({ kind, left, right }: Pick<Difference, 'kind' | 'left' | 'right'>): string {
  if (kind === 'ids') return idsDiff(textsOf(left), textsOf(right))
  if (kind === 'order' || kind === 'scores') return positionsDiff(textsOf(left), textsOf(right))
  if (kind === 'refusal') return `${left} and ${right}`
  return membersDiff(left, right)
}

const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))) : []

/** The ids of one side alone. */
function idsDiff(left: readonly string[], right: readonly string[]): string {
  const [lefts, rights] = [new Set(left), new Set(right)]
  const parts = [
    ['only left', left.filter((id) => !rights.has(id))],
    ['only right', right.filter((id) => !lefts.has(id))],
  ] as const
  const shown = parts.flatMap(([side, ids]) => (ids.length === 0 ? [] : [`${side} ${some(ids, IDS_SHOWN)}`]))
  // An id may occur more than once.
  return shown.length === 0 ? positionsDiff(left, right) : shown.join('; ')
}

/** The first position with different values, and how many there are. */
function positionsDiff(left: readonly string[], right: readonly string[]): string {
  const positions = [...Array(Math.max(left.length, right.length)).keys()].filter(
    (at) => left[at] !== right[at],
  )
  const [first = 0] = positions
  const more = positions.length === 1 ? '' : `; ${positions.length} positions differ`
  return `position ${first + 1}: ${left[first] ?? 'none'} and ${right[first] ?? 'none'}${more}`
}

/** The members of nested objects with different values, by path. */
function membersDiff(left: unknown, right: unknown): string {
  const changed: string[] = []
  const walk = (a: unknown, b: unknown, path: readonly string[]): void => {
    if (isDeepStrictEqual(a, b)) return
    if (isObject(a) && isObject(b)) {
      for (const name of new Set([...Object.keys(a), ...Object.keys(b)]))
        walk(a[name], b[name], [...path, name])
      return
    }
    // Names of a single top-level member tell nothing that the kind does not tell.
    const name = path.length > 1 ? path.slice(1).join('.') : path.join('.')
    changed.push(`${name} ${shown(a)} and ${shown(b)}`)
  }
  walk(left, right, [])
  return some(changed, MEMBERS_SHOWN, '; ')
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A value in a few characters. */
function shown(value: unknown): string {
  if (value === undefined) return 'none'
  if (isObject(value)) return `{${Object.keys(value).length}}`
  return JSON.stringify(value)
}

const some = (texts: readonly string[], max: number, comma = ', '): string =>
  texts.length > max
    ? `${texts.slice(0, max).join(comma)}${comma}… ${texts.length - max} more`
    : texts.join(comma)
