/** The fallback's own comparison of shapes, held to a library that compares every corner with every edge. */
import { booleanIntersects } from '@turf/boolean-intersects'
import test from 'ava'
import fc from 'fast-check'
import { anyMeets, polygonAreas } from '../../ts/engine/fallback/facets/areas.js'
import { boxOf, type Position, type Shape } from '../../ts/engine/fallback/facets/geojson.js'

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

const mutable = (positions: readonly Position[]): number[][] => positions.map(([lng, lat]) => [lng, lat])

test('shapes lie within areas where a comparison of all corners says so', (t) => {
  fc.assert(
    fc.property(shape, ring, (one, area) => {
      const other = { type: 'Polygon' as const, coordinates: [mutable(area)] }
      const expected =
        one.type === 'Point'
          ? booleanIntersects({ type: 'Point', coordinates: [...one.coordinates] }, other)
          : one.type === 'LineString'
            ? booleanIntersects({ type: 'LineString', coordinates: mutable(one.coordinates) }, other)
            : booleanIntersects({ type: 'Polygon', coordinates: one.coordinates.map(mutable) }, other)
      t.is(meets(one, area), expected)
    }),
    { numRuns: 3_000 },
  )
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
