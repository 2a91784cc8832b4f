/**
 * Compares the shape intersection of the fallback with a brute-force test of all corners and edges, exact on whole
 * degrees.
 */
import test from 'ava'
import { anyMeets, polygonAreas } from '../../ts/engine/fallback/facets/areas.js'
import { boxOf, type Position, type Shape } from '../../ts/engine/fallback/facets/geojson.js'
import fc from '../support/property.js'

const unchecked = (): void => undefined
const meets = (shape: Shape, ring: readonly Position[], check = unchecked): boolean =>
  anyMeets([shape], polygonAreas(ring.slice(0, -1).map(([lng, lat]) => [lat, lng] as const)), check)

/** A star-shaped ring, which never crosses itself. Corners are on whole degrees, so they are often on edges. */
function star(radii: readonly number[], [lng, lat]: Position): Position[] {
  const corners = radii.map((radius, at): Position => {
    const angle = (2 * Math.PI * at) / radii.length
    return [Math.round(lng + radius * Math.cos(angle)), Math.round(lat + radius * Math.sin(angle))]
  })
  return [...corners, corners[0]!]
}

const ring = fc
  .tuple(
    fc.array(fc.integer({ min: 3, max: 12 }), { minLength: 3, maxLength: 9 }),
    fc.tuple(fc.integer({ min: -12, max: 12 }), fc.integer({ min: -12, max: 12 })),
  )
  .map(([radii, centre]) => star(radii, centre))

const polygon = (coordinates: readonly (readonly Position[])[]): Shape => ({
  type: 'Polygon',
  coordinates,
  box: boxOf(coordinates[0]!),
})

const shape: fc.Arbitrary<Shape> = fc.oneof(
  ring.map((outer) => polygon([outer])),
  ring.map((line) => ({ type: 'LineString' as const, coordinates: line.slice(0, -1), box: boxOf(line) })),
  ring.map(([corner]) => ({ type: 'Point' as const, coordinates: corner!, box: boxOf([corner!]) })),
)

/** Side of the line from `a` to `b` on which a position is: 1, -1, or 0 on the line. */
const side = (a: Position, b: Position, [x, y]: Position): number =>
  Math.sign((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]))

type Edge = readonly [Position, Position]

const edgesOf = (line: readonly Position[]): Edge[] =>
  line.slice(1).map((to, at): Edge => [line[at] as Position, to])

const isOn = ([a, b]: Edge, place: Position): boolean =>
  side(a, b, place) === 0 &&
  [0, 1].every((axis) => (a[axis]! - place[axis]!) * (b[axis]! - place[axis]!) <= 0)

const edgesMeet = (tested: Edge, other: Edge): boolean =>
  other.some((place) => isOn(tested, place)) ||
  tested.some((place) => isOn(other, place)) ||
  (side(...tested, other[0]) * side(...tested, other[1]) < 0 &&
    side(...other, tested[0]) * side(...other, tested[1]) < 0)

/** Returns true if a ray to the east crosses the ring an odd number of times. */
const isWithin = (place: Position, ring: readonly Position[]): boolean =>
  edgesOf(ring).filter(([a, b]) => {
    const [low, high] = a[1] < b[1] ? [a, b] : [b, a]
    return low[1] <= place[1] && place[1] < high[1] && side(low, high, place) > 0
  }).length %
    2 ===
  1

function meetsExactly(line: readonly Position[], isRing: boolean, area: readonly Position[]): boolean {
  const edges: readonly Edge[] = line.length === 1 ? [[line[0]!, line[0]!]] : edgesOf(line)
  return (
    edges.some((edge) => edgesOf(area).some((other) => edgesMeet(edge, other))) ||
    isWithin(line[0]!, area) ||
    (isRing && isWithin(area[0]!, line))
  )
}

test('anyMeets agrees with a comparison of all corners and edges', (t) => {
  const property = fc.property(shape, ring, (tested, area) => {
    const line =
      tested.type === 'Point'
        ? [tested.coordinates]
        : tested.type === 'Polygon'
          ? tested.coordinates[0]!
          : tested.coordinates
    return meets(tested, area) === meetsExactly(line, tested.type === 'Polygon', area)
  })
  t.notThrows(() => fc.assert(property, { numRuns: 3_000 }))
})

const circle = (corners: number, radius: number): Position[] => {
  const open = Array.from({ length: corners }, (_, at): Position => {
    const angle = (2 * Math.PI * at) / corners
    return [radius * Math.cos(angle), radius * Math.sin(angle)]
  })
  return [...open, open[0]!]
}

test('an area inside a hole of a shape does not intersect it, an area around the rim does', (t) => {
  const ringed = polygon([circle(20_000, 40), circle(20_000, 30)])
  t.false(meets(ringed, circle(20_000, 20)))
  t.true(meets(ringed, circle(20_000, 35)))
  t.true(meets(ringed, circle(20_000, 80)))
})

test('comparing long borders ends when the search is cancelled', (t) => {
  let checks = 0
  const cancelled = (): void => {
    if (++checks > 10) throw new Error('cancelled')
  }
  t.throws(() => meets(polygon([circle(20_000, 40)]), circle(20_000, 35), cancelled), {
    message: 'cancelled',
  })
})
