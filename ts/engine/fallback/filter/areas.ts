/**
 * Does a shape lie within an area, or touch it? Source: spec/search-semantics.md §12.4.
 *
 *  1. Degrees are a plane here: an edge is straight on a map of longitudes and latitudes.
 *  2. A box whose right edge lies left of its left edge crosses the antimeridian, and is two boxes.
 *  3. A circle is a polygon of as many corners as asked for; where it leaves the map it enters it on the
 *     other side, and around a pole it reaches to the map's edge.
 */
import { booleanIntersects } from '@turf/boolean-intersects'
import { type Box, boxOf, type Position, type Shape } from '../fields/geojson.js'
import { EARTH_METRES, radians } from '../geo.js'
import type { LatLng } from './parse.js'

/** A ring on the map that ends where it begins, and the box around it. */
export interface Area {
  readonly ring: readonly Position[]
  readonly box: Box
}

const areaOf = (ring: readonly Position[]): Area => ({ ring, box: boxOf(ring) })

const rectangle = ([west, south, east, north]: Box): Area =>
  areaOf([
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ])

export function boxAreas([top, right]: LatLng, [bottom, left]: LatLng): Area[] {
  return right < left
    ? [rectangle([left, bottom, 180, top]), rectangle([-180, bottom, right, top])]
    : [rectangle([left, bottom, right, top])]
}

export function polygonAreas(corners: readonly LatLng[]): Area[] {
  const ring = corners.map(([lat, lng]): Position => [lng, lat])
  return [areaOf([...ring, ring[0]!])]
}

export function circleAreas(center: LatLng, metres: number, corners: number): Area[] {
  const angle = metres / EARTH_METRES
  if (!(angle >= 0)) return []
  if (angle >= Math.PI) return [rectangle([-180, -90, 180, 90])]
  const ring = circle(center, angle, corners)
  const pole = center[0] + degrees(angle) >= 90 ? 90 : center[0] - degrees(angle) <= -90 ? -90 : null
  const closed = pole === null ? [...ring, ring[0]!] : aroundPole(ring, pole)
  return [-360, 0, 360]
    .map((shift) => areaOf(closed.map(([lng, lat]): Position => [lng + shift, lat])))
    .filter(({ box }) => overlap(box, [-180, -90, 180, 90]))
}

const degrees = (angle: number): number => (angle * 180) / Math.PI

/** Corners of a circle, clockwise from north; longitudes go on past the map's edge. */
function circle([lat, lng]: LatLng, angle: number, corners: number): Position[] {
  const [sinLat, cosLat] = [Math.sin(radians(lat)), Math.cos(radians(lat))]
  const [sinAngle, cosAngle] = [Math.sin(angle), Math.cos(angle)]
  return Array.from({ length: corners }, (_, nth): Position => {
    const bearing = (2 * Math.PI * nth) / corners
    const sin = sinLat * cosAngle + cosLat * sinAngle * Math.cos(bearing)
    const east = Math.atan2(Math.sin(bearing) * sinAngle * cosLat, cosAngle - sinLat * sin)
    return [lng + degrees(east), degrees(Math.asin(Math.min(1, Math.max(-1, sin))))]
  })
}

/** A circle around a pole is all between its rim and the map's edge. */
function aroundPole(ring: readonly Position[], pole: 90 | -90): Position[] {
  const rim = [...ring].sort(([a], [b]) => a - b)
  const [first, last] = [rim[0]!, rim.at(-1)!]
  const [west, east]: [Position, Position] = [
    [last[0] - 360, last[1]],
    [first[0] + 360, first[1]],
  ]
  return [west, ...rim, east, [east[0], pole], [west[0], pole], west]
}

const overlap = (a: Box, b: Box): boolean => a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3]

/** Whether some shape shares a place with some area. @param check throws once the answer is of no use any more */
export function anyMeets(shapes: readonly Shape[], areas: readonly Area[], check: () => void): boolean {
  return shapes.some((shape) =>
    areas.some((area) => {
      if (!overlap(shape.box, area.box)) return false
      check()
      return meets(shape, area)
    }),
  )
}

const mutable = (positions: readonly Position[]): number[][] => positions.map(([lng, lat]) => [lng, lat])

function meets(shape: Shape, { ring }: Area): boolean {
  const area = { type: 'Polygon' as const, coordinates: [mutable(ring)] }
  switch (shape.type) {
    case 'Point':
      return booleanIntersects({ type: 'Point', coordinates: [...shape.coordinates] }, area)
    case 'LineString':
      return booleanIntersects({ type: 'LineString', coordinates: mutable(shape.coordinates) }, area)
    case 'Polygon':
      return booleanIntersects({ type: 'Polygon', coordinates: shape.coordinates.map(mutable) }, area)
  }
}
