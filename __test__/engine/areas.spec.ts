/** The fallback's comparison of shapes, held to one of every corner and edge that is exact on whole degrees. */
import test from 'ava'
import { anyMeets, polygonAreas } from '../../ts/engine/fallback/facets/areas.js'
import { boxOf, type Position, type Shape } from '../../ts/engine/fallback/facets/geojson.js'
import fc from '../support/property.js'

const unchecked = (): void => undefined
const meets = (shape: Shape, ring: readonly Position[], check = unchecked): boolean =>
  anyMeets([shape], polygonAreas(ring.slice(0, -1).map(([lng, lat]) => [lat, lng] as const)), check)

/** A star around a centre, which never crosses itself; on whole degrees, so that corners often lie on edges. */
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

/** On which side of the line from `a` to `b` a place lies: 1, -1, or 0 on the line. */
const side = (a: Position, b: Position, [x, y]: Position): number =>
  Math.sign((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]))

type Edge = readonly [Position, Position]

const edgesOf = (line: readonly Position[]): Edge[] =>
  line.slice(1).map((to, at): Edge => [line[at] as Position, to])

const isOn = ([a, b]: Edge, place: Position): boolean =>
  side(a, b, place) === 0 &&
  [0, 1].every((axis) => (a[axis]! - place[axis]!) * (b[axis]! - place[axis]!) <= 0)

const edgesMeet = (one: Edge, other: Edge): boolean =>
  other.some((place) => isOn(one, place)) ||
  one.some((place) => isOn(other, place)) ||
  (side(...one, other[0]) * side(...one, other[1]) < 0 && side(...other, one[0]) * side(...other, one[1]) < 0)

/** Whether a ray to the east crosses a ring an odd number of times. */
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

test('shapes lie within areas where a comparison of all corners says so', (t) => {
  const property = fc.property(shape, ring, (one, area) => {
    const line =
      one.type === 'Point'
        ? [one.coordinates]
        : one.type === 'Polygon'
          ? one.coordinates[0]!
          : one.coordinates
    return meets(one, area) === meetsExactly(line, one.type === 'Polygon', area)
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

test('an area within the hole of a shape does not meet it, and one around its rim does', (t) => {
  const ringed = polygon([circle(20_000, 40), circle(20_000, 30)])
  t.false(meets(ringed, circle(20_000, 20)))
  t.true(meets(ringed, circle(20_000, 35)))
  t.true(meets(ringed, circle(20_000, 80)))
})

test('a comparison of long borders ends once its search is stopped', (t) => {
  let looks = 0
  const gone = (): void => {
    if (++looks > 10) throw new Error('gone')
  }
  t.throws(() => meets(polygon([circle(20_000, 40)]), circle(20_000, 35), gone), { message: 'gone' })
})
