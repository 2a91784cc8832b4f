/** Reads the `_geo` point of a document. Source: documents §4.4. */
import { isDecimal } from '../../../parse/index.js'
import type { GeoPoint } from '../index-data/index-data.js'
import { type Json, JsonNumber, type JsonObject, writeJson } from '../store/json.js'

/** Reports why a `_geo` is invalid. */
export class GeoError extends Error {}

function degrees(value: Json | undefined, name: string): number {
  const number =
    value instanceof JsonNumber
      ? value.value
      : typeof value === 'string' && isDecimal(value)
        ? Number(value)
        : Number.NaN
  if (Number.isFinite(number)) return number
  const found = value === undefined ? 'nothing' : `\`${writeJson(value)}\``
  throw new GeoError(`\`_geo.${name}\` must be a number or a string holding one, found ${found}`)
}

/** Returns the point of a document, undefined without one. @throws GeoError if `_geo` is malformed */
export function geoPoint(document: JsonObject): GeoPoint | undefined {
  const value = document.get('_geo')
  if (value === undefined || value === null) return undefined
  if (!(value instanceof Map))
    throw new GeoError(`\`_geo\` must be an object with \`lat\` and \`lng\`, found \`${writeJson(value)}\``)
  const extra = [...value.keys()].find((name) => name !== 'lat' && name !== 'lng')
  if (extra !== undefined)
    throw new GeoError(`\`_geo\` has an unknown field \`${extra}\` beside \`lat\` and \`lng\``)
  return [degrees(value.get('lat'), 'lat'), degrees(value.get('lng'), 'lng')]
}
