/**
 * Tests if two borders touch, and if a border encloses a position.
 *
 * Consecutive edges form runs with a bounding box each. Only edges of runs with overlapping boxes are compared, so
 * borders of tens of thousands of edges take milliseconds. Orientation tests are exact, so a corner on an edge counts
 * as touching.
 */
import type { Box, Position } from './geojson.js'

/** Edges per run. More edges make longer comparisons, fewer edges more boxes. A guess. */
const RUN_EDGES = 32

/** A line, or a ring with equal first and last positions. */
export interface Border {
  readonly positions: readonly Position[]
  /**
   * West, south, east and north of each run of `RUN_EDGES` edges. Flat, so that a border of any length is two objects.
   */
  readonly runBoxes: Float64Array
}

/** @param positions at least one */
export function borderOf(positions: readonly Position[]): Border {
  const runs = Math.max(1, Math.ceil((positions.length - 1) / RUN_EDGES))
  const runBoxes = new Float64Array(runs * 4)
  for (let run = 0; run < runs; run++) {
    let [west, south] = positions[run * RUN_EDGES]!
    let [east, north] = [west, south]
    const last = lastOfRun(positions, run)
    for (let at = run * RUN_EDGES + 1; at <= last; at++) {
      const position = positions[at]!
      west = Math.min(west, position[0])
      south = Math.min(south, position[1])
      east = Math.max(east, position[0])
      north = Math.max(north, position[1])
    }
    runBoxes.set([west, south, east, north], run * 4)
  }
  return { positions, runBoxes }
}

/** Index of the last position of a run. */
const lastOfRun = (positions: readonly Position[], run: number): number =>
  Math.min(positions.length - 1, (run + 1) * RUN_EDGES)

export const overlap = (a: Box, b: Box): boolean =>
  a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]

/** Returns true if two borders share a position. @param check throws if the call is cancelled */
export function touch(first: Border, second: Border, check: () => void): boolean {
  const [boxes, against] = [first.runBoxes, second.runBoxes]
  for (let box = 0; box < boxes.length; box += 4) {
    check()
    for (let to = 0; to < against.length; to += 4) {
      const overlaps =
        boxes[box]! <= against[to + 2]! &&
        against[to]! <= boxes[box + 2]! &&
        boxes[box + 1]! <= against[to + 3]! &&
        against[to + 1]! <= boxes[box + 3]!
      if (overlaps && runsTouch(first, box / 4, second, to / 4)) return true
    }
  }
  return false
}

function runsTouch(first: Border, run: number, second: Border, against: number): boolean {
  const last = lastOfRun(first.positions, run)
  const lastAgainst = lastOfRun(second.positions, against)
  for (let at = run * RUN_EDGES + 1; at <= last; at++) {
    const [a, b] = [first.positions[at - 1]!, first.positions[at]!]
    if (!edgeMeetsRun(a, b, second, against)) continue
    for (let to = against * RUN_EDGES + 1; to <= lastAgainst; to++) {
      const [c, d] = [second.positions[to - 1]!, second.positions[to]!]
      if (edgesTouch(a, b, c, d)) return true
    }
  }
  return false
}

/** Returns true if the bounding box of an edge overlaps that of a run. */
function edgeMeetsRun(a: Position, b: Position, { runBoxes }: Border, run: number): boolean {
  const box = run * 4
  return (
    Math.min(a[0], b[0]) <= runBoxes[box + 2]! &&
    Math.max(a[0], b[0]) >= runBoxes[box]! &&
    Math.min(a[1], b[1]) <= runBoxes[box + 3]! &&
    Math.max(a[1], b[1]) >= runBoxes[box + 1]!
  )
}

function edgesTouch(a: Position, b: Position, c: Position, d: Position): boolean {
  if (Math.min(a[0], b[0]) > Math.max(c[0], d[0]) || Math.max(a[0], b[0]) < Math.min(c[0], d[0])) return false
  if (Math.min(a[1], b[1]) > Math.max(c[1], d[1]) || Math.max(a[1], b[1]) < Math.min(c[1], d[1])) return false
  if (side(a, b, c) * side(a, b, d) > 0) return false
  return side(c, d, a) * side(c, d, b) <= 0
}

/** Returns true if a position is inside a ring or on it. */
export function encloses(border: Border, position: Position): boolean {
  const { positions, runBoxes } = border
  const [lng, lat] = position
  let isInside = false
  for (let run = 0; run * 4 < runBoxes.length; run++) {
    const box = run * 4
    if (runBoxes[box + 1]! > lat || runBoxes[box + 3]! < lat || runBoxes[box + 2]! < lng) continue
    const last = lastOfRun(positions, run)
    for (let at = run * RUN_EDGES + 1; at <= last; at++) {
      const [a, b] = [positions[at - 1]!, positions[at]!]
      const isLevel = lat >= Math.min(a[1], b[1]) && lat <= Math.max(a[1], b[1])
      const isAbove = lng >= Math.min(a[0], b[0]) && lng <= Math.max(a[0], b[0])
      if (isLevel && isAbove && side(a, b, position) === 0) return true
      // The lower end of an edge counts, the upper end does not.
      if (a[1] > lat === b[1] > lat) continue
      const isLeft = a[1] > b[1] ? side(b, a, position) > 0 : side(a, b, position) > 0
      if (isLeft) isInside = !isInside
    }
  }
  return isInside
}

/** Relative rounding error of the difference of two products. Source: Shewchuk's bound for orientation. */
const ROUNDING = (3 + 16 * 2 ** -53) * 2 ** -53

/** Side of the line from `a` to `b` on which `c` is. 1: left, -1: right, 0: on the line. */
function side(a: Position, b: Position, c: Position): -1 | 0 | 1 {
  const left = (a[0] - c[0]) * (b[1] - c[1])
  const right = (a[1] - c[1]) * (b[0] - c[0])
  const difference = left - right
  if (Math.abs(difference) > ROUNDING * (Math.abs(left) + Math.abs(right))) return difference > 0 ? 1 : -1
  return exactSide(a, b, c)
}

function exactSide(a: Position, b: Position, c: Position): -1 | 0 | 1 {
  // Fast path: most corners close to an edge share a coordinate with its ends.
  if ((a[0] === c[0] && (b[0] === c[0] || a[1] === c[1])) || (b[0] === c[0] && b[1] === c[1])) return 0
  if (a[1] === c[1] && b[1] === c[1]) return 0
  const [ax, ay, bx, by, cx, cy] = integers([...a, ...b, ...c])
  const difference = (ax! - cx!) * (by! - cy!) - (ay! - cy!) * (bx! - cx!)
  return difference > 0n ? 1 : difference < 0n ? -1 : 0
}

/** Scales numbers to integers of a common unit, a power of two. */
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
