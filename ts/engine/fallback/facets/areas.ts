/**
 * Tests if shapes intersect an area. Source: search §12.4.
 *
 * 1. Degrees are treated as a plane: an edge is straight on a map of longitudes and latitudes.
 * 2. A box with its right edge west of its left edge crosses the antimeridian, and is split into two boxes.
 * 3. A circle is a polygon with the requested number of corners. It wraps around at the edge of the map, and around a
 *    pole it extends to the edge.
 */

import type { LatLng } from '../filter/tree.js'
import { EARTH_METRES, radians } from './geo.js'
import { type Box, boxOf, type Position, type Shape } from './geojson.js'
import { type Border, borderOf, encloses, overlap, touch } from './plane.js'

/** A closed ring on the map, and its bounding box. */
export interface Area {
  readonly border: Border
  readonly box: Box
}

const areaOf = (ring: readonly Position[]): Area => ({ border: borderOf(ring), box: boxOf(ring) })

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

/** Corners of a circle, clockwise from north. Longitudes may exceed the map. */
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

/** A circle around a pole is the area between its rim and the edge of the map. */
function aroundPole(ring: readonly Position[], pole: 90 | -90): Position[] {
  const rim = [...ring].sort(([a], [b]) => a - b)
  const [first, last] = [rim[0]!, rim.at(-1)!]
  const [west, east]: [Position, Position] = [
    [last[0] - 360, last[1]],
    [first[0] + 360, first[1]],
  ]
  return [west, ...rim, east, [east[0], pole], [west[0], pole], west]
}

/** Returns true if any shape intersects any area. @param check throws if the call is cancelled */
export function anyMeets(shapes: readonly Shape[], areas: readonly Area[], check: () => void): boolean {
  return shapes.some((shape) =>
    areas.some((area) => overlap(shape.box, area.box) && meets(shape, area, check)),
  )
}

/** If borders do not touch, a line or ring is inside the other with all its corners or with none. */
function meets(shape: Shape, { border }: Area, check: () => void): boolean {
  check()
  if (shape.type === 'Point') return encloses(border, shape.coordinates)
  const [outer, ...holes] = shape.type === 'LineString' ? [shape.coordinates] : shape.coordinates
  const outside = borderOf(outer!)
  if (encloses(border, outer![0]!)) return true
  if (touch(outside, border, check)) return true
  if (shape.type === 'LineString' || !encloses(outside, border.positions[0]!)) return false
  const inner = holes.map(borderOf)
  return (
    inner.some((hole) => touch(hole, border, check)) ||
    !inner.some((hole) => encloses(hole, border.positions[0]!))
  )
}
