/**
 * Parses a `sort` list.
 *
 * Source: search §9.
 * 1. The text after the last colon is the direction.
 * 2. A field must be sortable, or be nested in a sortable field.
 * 3. The only reserved name to sort by is a point.
 */
import { clientMessages, type ErrorCode } from '../../../errors/index.js'
import type { IndexSettings } from '../../../settings/index.js'
import { EngineError } from '../../engine-error.js'
import { isSortable, shownNames } from '../fields/rules.js'
import { numberIn } from '../filter/parse.js'
import type { SortCriterion } from '../ranking/index.js'

const GEO_POINT = /^_geoPoint\((.*)\)$/s
const NOT_FINITE = /^[+-]?(inf|infinity|nan)$/i
const RESERVED = /^_geo(Distance|Point|Radius|BoundingBox|Polygon|json)?(\(|$)/

/**
 * @param prefix names the index in messages
 * @throws EngineError with `code`
 */
export function parseSort(
  list: readonly string[],
  settings: IndexSettings,
  code: ErrorCode,
  prefix: string,
): SortCriterion[] {
  return list.map((text) => {
    const colon = text.lastIndexOf(':')
    const direction = text.slice(colon + 1)
    if (colon === -1 || (direction !== 'asc' && direction !== 'desc'))
      throw new EngineError(
        code,
        `${prefix}invalid sort expression \`${text}\`: expected an expression ending with \`:asc\` or \`:desc\``,
      )
    const ascending = direction === 'asc'
    const name = text.slice(0, colon)
    const point = GEO_POINT.exec(name)
    if (point !== null) {
      const numbers = point[1]!.split(',').map((text) => coordinate(text.trim()))
      const [lat = null, lng = null] = numbers
      if (lat === null || lng === null || numbers.length !== 2)
        throw new EngineError(
          code,
          `${prefix}invalid sort expression \`${text}\`: expected \`_geoPoint(latitude, longitude)\``,
        )
      if (!(Math.abs(lat) <= 90) || !(Math.abs(lng) <= 180))
        throw new EngineError(
          code,
          `${prefix}invalid sort expression \`${text}\`: latitudes go from -90 to 90 and longitudes from -180 to 180`,
        )
      requireSortable('_geo', settings, code, prefix)
      return { kind: 'geo', target: [lat, lng], ascending }
    }
    if (RESERVED.test(name))
      throw new EngineError(
        code,
        `${prefix}\`${name}\` is reserved and cannot be sorted by; use \`_geoPoint(latitude, longitude)\``,
      )
    requireSortable(name, settings, code, prefix)
    return { kind: 'field', field: name, ascending }
  })
}

/** Returns NaN for a number that is not finite, null for other texts. */
const coordinate = (text: string): number | null => (NOT_FINITE.test(text) ? Number.NaN : numberIn(text))

function requireSortable(field: string, settings: IndexSettings, code: ErrorCode, prefix: string): void {
  if (isSortable(settings, field)) return
  const names = shownNames(settings, settings.sortableAttributes)
  throw new EngineError(code, prefix + clientMessages.notSortable(field, names))
}
