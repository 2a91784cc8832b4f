/** Reads the `_geojson` shapes of a document. Source: documents §4.5, RFC 7946. */
import { type Json, JsonNumber, type JsonObject } from '../store/json.js'

/** Longitude and latitude in degrees, in the order of GeoJSON. */
export type Position = readonly [lng: number, lat: number]

/** Bounds in degrees: west, south, east, north. */
export type Box = readonly [west: number, south: number, east: number, north: number]

/** A part of the area that a document covers; collections are flattened. */
export type Shape = { readonly box: Box } & (
  | { readonly type: 'Point'; readonly coordinates: Position }
  | { readonly type: 'LineString'; readonly coordinates: readonly Position[] }
  | { readonly type: 'Polygon'; readonly coordinates: readonly (readonly Position[])[] }
)

/** Reports why a `_geojson` is invalid. */
export class GeojsonError extends Error {}

/** The first position of a closed ring is repeated as its last. */
const RING_POSITIONS_MIN = 4
const LINE_POSITIONS_MIN = 2

/** The shapes of a document, undefined without `_geojson`. @throws GeojsonError if it is malformed */
export function geoShapes(document: JsonObject): readonly Shape[] | undefined {
  const value = document.get('_geojson')
  return value === undefined ? undefined : shapesOf(value)
}

function shapesOf(value: Json): Shape[] {
  const object = objectIn(value, '_geojson')
  switch (object.get('type')) {
    case 'Feature': {
      const geometry = object.get('geometry')
      if (geometry === undefined) throw new GeojsonError('a `Feature` needs a `geometry`')
      return geometry === null ? [] : geometryShapes(geometry)
    }
    case 'FeatureCollection':
      return listIn(object.get('features'), 'features', 0).flatMap(shapesOf)
    default:
      return geometryShapes(object)
  }
}

function geometryShapes(value: Json): Shape[] {
  const geometry = objectIn(value, 'geometry')
  const type = geometry.get('type')
  if (type === 'GeometryCollection')
    return listIn(geometry.get('geometries'), 'geometries', 0).flatMap(geometryShapes)
  const coordinates = geometry.get('coordinates')
  const list = (): readonly Json[] => listIn(coordinates, 'coordinates', 0)
  switch (type) {
    case 'Point':
      return [point(coordinates)]
    case 'MultiPoint':
      return list().map(point)
    case 'LineString':
      return [line(coordinates)]
    case 'MultiLineString':
      return list().map(line)
    case 'Polygon':
      return [polygon(coordinates)]
    case 'MultiPolygon':
      return list().map(polygon)
    default:
      throw new GeojsonError('`type` must name a geometry, `Feature` or `FeatureCollection`')
  }
}

function objectIn(value: Json, what: string): JsonObject {
  if (value instanceof Map) return value
  throw new GeojsonError(`\`${what}\` must be an object`)
}

function listIn(value: Json | undefined, what: string, least: number): readonly Json[] {
  if (!Array.isArray(value)) throw new GeojsonError(`\`${what}\` must be an array`)
  if (value.length < least) throw new GeojsonError(`\`${what}\` needs at least ${least} items`)
  return value
}

function position(value: Json | undefined): Position {
  const numbers = listIn(value, 'coordinates', 2).map((item) =>
    item instanceof JsonNumber && Number.isFinite(item.value) ? item.value : Number.NaN,
  )
  if (numbers.some(Number.isNaN)) throw new GeojsonError('a position holds numbers only')
  return [numbers[0]!, numbers[1]!]
}

function positions(value: Json | undefined, least: number): Position[] {
  return listIn(value, 'coordinates', least).map(position)
}

function point(value: Json | undefined): Shape {
  const coordinates = position(value)
  return { type: 'Point', coordinates, box: boxOf([coordinates]) }
}

function line(value: Json | undefined): Shape {
  const coordinates = positions(value, LINE_POSITIONS_MIN)
  return { type: 'LineString', coordinates, box: boxOf(coordinates) }
}

function polygon(value: Json | undefined): Shape {
  const coordinates = listIn(value, 'coordinates', 1).map((ring) => {
    const corners = positions(ring, RING_POSITIONS_MIN)
    const [first, last] = [corners[0]!, corners.at(-1)!]
    if (first[0] !== last[0] || first[1] !== last[1])
      throw new GeojsonError('a ring must end where it begins')
    return corners
  })
  return { type: 'Polygon', coordinates, box: boxOf(coordinates[0]!) }
}

/** Bounding box of some positions. */
export function boxOf(corners: readonly Position[]): Box {
  let [west, south, east, north] = [
    Number.POSITIVE_INFINITY,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ]
  for (const [lng, lat] of corners) {
    west = Math.min(west, lng)
    south = Math.min(south, lat)
    east = Math.max(east, lng)
    north = Math.max(north, lat)
  }
  return [west, south, east, north]
}
