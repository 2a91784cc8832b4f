/**
 * Do two borders touch, and does one enclose a position?
 *
 * Edges that follow one another lie in runs with a box around each: only edges of runs whose boxes overlap are compared,
 * so that borders of tens of thousands of edges take milliseconds. Signs are exact, so that a corner on an edge counts.
 */
import { type Box, boxOf, type Position } from '../fields/geojson.js'

/** Edges of one run. More make longer comparisons, fewer more boxes. A guess. */
const RUN_EDGES = 32

/** Edges that follow one another: one fewer than positions. */
interface Run {
  readonly box: Box
  readonly positions: readonly Position[]
}

/** A line, or a ring that ends where it begins. */
export interface Border {
  readonly start: Position
  readonly runs: readonly Run[]
}

/** @param positions at least one */
export function borderOf(positions: readonly Position[]): Border {
  const runs: Run[] = []
  for (let from = 0; from === 0 || from < positions.length - 1; from += RUN_EDGES) {
    const part = positions.slice(from, from + RUN_EDGES + 1)
    runs.push({ box: boxOf(part), positions: part })
  }
  return { start: positions[0]!, runs }
}

export const overlap = (a: Box, b: Box): boolean =>
  a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]

/** Whether two borders share a position. @param check throws once the answer is of no use any more */
export function touch(one: Border, other: Border, check: () => void): boolean {
  return one.runs.some((run) => {
    check()
    return other.runs.some((against) => overlap(run.box, against.box) && runsTouch(run, against))
  })
}

function runsTouch({ positions, box }: Run, against: Run): boolean {
  for (let at = 1; at < positions.length; at++) {
    const [a, b] = [positions[at - 1]!, positions[at]!]
    if (!edgeMeetsBox(a, b, against.box)) continue
    for (let to = 1; to < against.positions.length; to++) {
      const [c, d] = [against.positions[to - 1]!, against.positions[to]!]
      if (edgeMeetsBox(c, d, box) && edgesTouch(a, b, c, d)) return true
    }
  }
  return false
}

/** Whether the box around an edge overlaps another one. */
const edgeMeetsBox = ([aLng, aLat]: Position, [bLng, bLat]: Position, box: Box): boolean =>
  Math.min(aLng, bLng) <= box[2] &&
  Math.max(aLng, bLng) >= box[0] &&
  Math.min(aLat, bLat) <= box[3] &&
  Math.max(aLat, bLat) >= box[1]

function edgesTouch(a: Position, b: Position, c: Position, d: Position): boolean {
  if (!edgeMeetsBox(a, b, boxOf([c, d]))) return false
  const [toC, toD] = [side(a, b, c), side(a, b, d)]
  if (toC * toD > 0) return false
  return side(c, d, a) * side(c, d, b) <= 0
}

/** Whether a ring has a position inside it or on it. */
export function encloses({ runs }: Border, position: Position): boolean {
  const [lng, lat] = position
  let isInside = false
  for (const { box, positions } of runs) {
    if (box[1] > lat || box[3] < lat || box[2] < lng) continue
    for (let at = 1; at < positions.length; at++) {
      const [a, b] = [positions[at - 1]!, positions[at]!]
      if (edgeMeetsBox(a, b, [lng, lat, lng, lat]) && side(a, b, position) === 0) return true
      // Of an edge the lower end counts, the upper one does not.
      if (a[1] > lat === b[1] > lat) continue
      const isLeft = a[1] > b[1] ? side(b, a, position) > 0 : side(a, b, position) > 0
      if (isLeft) isInside = !isInside
    }
  }
  return isInside
}

/** How far rounding can take the difference of two products. Source: Shewchuk's bound for orientation. */
const ROUNDING = (3 + 16 * 2 ** -53) * 2 ** -53

/** On which side of the line from `a` to `b` does `c` lie? 1: left, -1: right, 0: on it. */
function side(a: Position, b: Position, c: Position): -1 | 0 | 1 {
  const left = (a[0] - c[0]) * (b[1] - c[1])
  const right = (a[1] - c[1]) * (b[0] - c[0])
  const difference = left - right
  if (Math.abs(difference) > ROUNDING * (Math.abs(left) + Math.abs(right))) return difference > 0 ? 1 : -1
  return exactSide(a, b, c)
}

function exactSide(a: Position, b: Position, c: Position): -1 | 0 | 1 {
  // Most corners that look as if they lay on an edge have a coordinate of its ends.
  if ((a[0] === c[0] && (b[0] === c[0] || a[1] === c[1])) || (b[0] === c[0] && b[1] === c[1])) return 0
  if (a[1] === c[1] && b[1] === c[1]) return 0
  const [ax, ay, bx, by, cx, cy] = integers([...a, ...b, ...c])
  const difference = (ax! - cx!) * (by! - cy!) - (ay! - cy!) * (bx! - cx!)
  return difference > 0n ? 1 : difference < 0n ? -1 : 0
}

/** Numbers as integers of one unit, a power of two. */
function integers(numbers: readonly number[]): bigint[] {
  const parts = numbers.map(mantissaAndExponent)
  const least = Math.min(...parts.map(({ exponent }) => exponent))
  return parts.map(({ mantissa, exponent }) => mantissa << BigInt(exponent - least))
}

function mantissaAndExponent(value: number): { mantissa: bigint; exponent: number } {
  if (value === 0) return { mantissa: 0n, exponent: 0 }
  let exponent = Math.max(Math.floor(Math.log2(Math.abs(value))) - 53, -1074)
  let scaled = value / 2 ** exponent
  while (!Number.isInteger(scaled)) {
    exponent--
    scaled *= 2
  }
  return { mantissa: BigInt(scaled), exponent }
}
