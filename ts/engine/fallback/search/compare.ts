/**
 * Compares ranked documents of different result lists.
 *
 * Source: operations §17, vectors §6.7.
 * 1. Consecutive ranks are merged into one score, multiplied by the weight of the list and of dynamic search rules.
 *    Sort values and vectors separate them.
 * 2. Values are compared one by one. If two values are of different kinds, the hit with more values comes first, then
 *    the higher total score.
 * 3. Numbers come before strings, strings before missing values, in both directions.
 */

import type { ScoreDetail } from '../ranking/rule.js'
import { mergedScore, rankOf, scaleOf } from '../ranking/score.js'
import { compareUtf8 } from '../store/text-order.js'

/** Comparison values of a hit, most important first. */
export type Value =
  | { readonly kind: 'score'; readonly score: number }
  | { readonly kind: 'sort'; readonly ascending: boolean; readonly value: number | string | null }
  | { readonly kind: 'geo'; readonly ascending: boolean; readonly value: number | null }
  /** The hit is pinned and is not compared. */
  | { readonly kind: 'pin'; readonly position: number }

/** The compared parts of a hit. */
export interface Comparable {
  readonly values: readonly Value[]
  /** Total score times the weight, used if values cannot be compared. */
  readonly score: number
}

/** Returns the comparison values of a hit from a list with this weight. */
export function valuesOf(details: readonly ScoreDetail[], listWeight: number): Value[] {
  const weight = listWeight * scaleOf(details)
  const values: Value[] = []
  let ranks: { rank: number; max: number }[] = []
  const fold = (): void => {
    if (ranks.length > 0) values.push({ kind: 'score', score: mergedScore(ranks) * weight })
    ranks = []
  }
  for (const detail of details) {
    const rank = rankOf(detail)
    if (rank !== null) ranks.push(rank)
    else {
      fold()
      if (detail.rule === 'sort')
        values.push({ kind: 'sort', ascending: detail.ascending, value: detail.value })
      else if (detail.rule === 'geo')
        values.push({ kind: 'geo', ascending: detail.ascending, value: detail.distance })
      else if (detail.rule === 'vector')
        values.push({ kind: 'score', score: (detail.similarity ?? 0) * weight })
      else if (detail.rule === 'pin') values.push({ kind: 'pin', position: detail.position })
    }
  }
  fold()
  return values
}

/** Encodes a value for another instance, which merges our hits with its own. */
export function renderValue(value: Value): unknown {
  if (value.kind === 'score') return { score: value.score }
  if (value.kind === 'pin') return { pin: value.position }
  const { kind, ascending, value: sorted } = value
  return { [kind]: { ascending, value: sorted } }
}

/** Decodes a value that `renderValue` wrote; null for anything else. */
export function readValue(json: unknown): Value | null {
  if (typeof json !== 'object' || json === null) return null
  const { score, pin, sort, geo } = json as Readonly<Record<string, unknown>>
  if (typeof score === 'number') return { kind: 'score', score }
  if (typeof pin === 'number') return { kind: 'pin', position: pin }
  const { ascending, value } = (sort ?? geo ?? {}) as Readonly<Record<string, unknown>>
  if (typeof ascending !== 'boolean') return null
  if (value === null || typeof value === 'number')
    return sort === undefined ? { kind: 'geo', ascending, value } : { kind: 'sort', ascending, value }
  return sort !== undefined && typeof value === 'string' ? { kind: 'sort', ascending, value } : null
}

/** Sorts numbers before strings before missing values, in both directions. */
function compareSorted(a: number | string | null, b: number | string | null, ascending: boolean): number {
  const kind = (value: number | string | null): number =>
    typeof value === 'number' ? 0 : value === null ? 2 : 1
  if (kind(a) !== kind(b)) return kind(a) - kind(b)
  if (a === null || b === null) return 0
  const order = typeof a === 'number' && typeof b === 'number' ? a - b : compareUtf8(a as string, b as string)
  return ascending ? order : -order
}

/** Returns a negative number if `a` comes first, 0 if they are equal. */
export function compareValues(a: Comparable, b: Comparable): number {
  for (let at = 0; at < a.values.length || at < b.values.length; at++) {
    const [left, right] = [a.values[at], b.values[at]]
    if (left === undefined) return 1
    if (right === undefined) return -1
    if (left.kind === 'score' && right.kind === 'score') {
      if (Math.abs(left.score - right.score) > Number.EPSILON) return right.score - left.score
      continue
    }
    if (
      left.kind === 'score' ||
      right.kind === 'score' ||
      left.kind === 'pin' ||
      right.kind === 'pin' ||
      left.kind !== right.kind ||
      left.ascending !== right.ascending
    )
      return b.values.length - a.values.length || b.score - a.score
    const order = compareSorted(left.value, right.value, left.ascending)
    if (order !== 0) return order
  }
  return 0
}
