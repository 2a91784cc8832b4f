/** SQL that turns a column into a JSON value. */
import type { FieldSource } from '../../../ts/transfer/sync/source.js'
import type { Column } from './catalogue.js'
import { literal, quoted } from './names.js'
import { PostgresError } from './source-error.js'

/** Significant decimal digits that a double always keeps. */
const DOUBLE_DIGITS = 15

/** Types of pgvector. */
export const vectorTypes = ['vector', 'halfvec']
/** Types of PostGIS. */
export const geometryTypes = ['geometry', 'geography']

/** True for points, and for columns of PostGIS that may hold them. */
export const isPosition = ({ base, type }: Column): boolean =>
  base === 'point' ||
  (geometryTypes.includes(base) && (!type.includes('(') || /\((Geometry|Point)/.test(type)))

/** Casts by name: SQL of the column → SQL of a JSON value. */
const casts: Readonly<Record<string, (sql: string, column: Column) => string>> = {
  text: (sql) => `${sql}::text`,
  number: (sql) => `${sql}::text::float8`,
  boolean: (sql) => `${sql}::text::boolean`,
  json: (sql) => `${sql}::text::json`,
  unix: (sql) => `floor(extract(epoch from ${sql}))::bigint`,
  unix_ms: (sql) => `floor(extract(epoch from ${sql}) * 1000)::bigint`,
  base64: (sql) => `translate(encode(${sql}, 'base64'), E'\\n', '')`,
  hex: (sql) => `encode(${sql}, 'hex')`,
  geo: (sql, { base }) => geoPoint(sql, base),
  geojson: (sql) => `ST_AsGeoJSON(${inDegrees(sql)})::json`,
  vector: (sql, column) => vector(sql, column),
}

const members = ['column', 'sql', 'as', 'lat', 'lng', 'vectors']

/**
 * Returns SQL for a field.
 * @param columns of the row; `t` is its name in SQL
 * @throws PostgresError for a column or cast that does not exist
 */
export function fieldExpression(field: string, source: FieldSource, columns: readonly Column[]): string {
  const given = typeof source === 'string' ? { column: source } : source
  const fail = (why: string): never => {
    throw new PostgresError(`field \`${field}\`: ${why}`, false)
  }
  const unknown = Object.keys(given).find((name) => !members.includes(name))
  if (unknown !== undefined) fail(`\`${unknown}\` is unknown, expected ${members.join(', ')}`)
  const { column, sql, as, lat, lng, vectors } = given as Readonly<Record<string, unknown>>
  const found = (name: unknown): Column =>
    columns.find((one) => one.name === name) ?? fail(`there is no column \`${name}\``)
  if (typeof sql === 'string') return `(${sql})`
  if (lat !== undefined && lng !== undefined) {
    const [north, east] = [`t.${quoted(found(lat).name)}`, `t.${quoted(found(lng).name)}`]
    return `case when ${north} is null or ${east} is null then null else json_build_object('lat', ${north}, 'lng', ${east}) end`
  }
  if (typeof vectors === 'object' && vectors !== null) {
    const parts = Object.entries(vectors).map(([embedder, name]) => {
      const one = found(name)
      return `${literal(embedder)}, ${vector(`t.${quoted(one.name)}`, one)}`
    })
    return `json_build_object(${parts.join(', ')})`
  }
  const one = found(column)
  const ref = `t.${quoted(one.name)}`
  const cast = as ?? (field === '_geo' && isPosition(one) ? 'geo' : undefined)
  if (cast === undefined) return columnExpression(ref, one)
  if (typeof cast !== 'string' || !Object.hasOwn(casts, cast))
    return fail(`\`as\` must be one of ${Object.keys(casts).join(', ')}`)
  return casts[cast]!(ref, one)
}

/** Returns SQL for a column without a cast. @param sql of the column */
export function columnExpression(sql: string, column: Column): string {
  const { base, modifier } = column
  if (base === 'bytea') return casts.base64!(sql, column)
  if (base === 'numeric' && !isWithinDouble(modifier)) {
    // Numbers that a double would change become texts.
    const isExact = `abs(${sql}) < 10::numeric ^ (${DOUBLE_DIGITS} - scale(trim_scale(${sql})))`
    return `case when ${isExact} then to_json(trim_scale(${sql})) when ${sql} is not null then to_json(${sql}::text) end`
  }
  if (vectorTypes.includes(base)) return vector(sql, column)
  return sql
}

/** Columns without use in documents. */
export const isOmitted = ({ base }: Column): boolean => base === 'tsvector' || base === 'tsquery'

/** @param modifier of a numeric type: precision in the upper, scale in the lower 16 bits, plus 4 */
const isWithinDouble = (modifier: number): boolean => modifier >= 4 && (modifier - 4) >> 16 <= DOUBLE_DIGITS

/** The text of pgvector's types is JSON. */
const vector = (sql: string, { base }: Column): string =>
  base.startsWith('_') ? `to_json(${sql})` : `${sql}::text::json`

/** Coordinates without a reference system are taken as longitude and latitude. */
const inDegrees = (sql: string): string =>
  `case when ST_SRID(${sql}::geometry) in (0, 4326) then ${sql}::geometry else ST_Transform(${sql}::geometry, 4326) end`

/** An empty point of PostGIS has no coordinates. */
function geoPoint(sql: string, base: string): string {
  const [lat, lng] =
    base === 'point' ? [`(${sql})[1]`, `(${sql})[0]`] : [`ST_Y(${inDegrees(sql)})`, `ST_X(${inDegrees(sql)})`]
  return `case when ${lat} is null then null else json_build_object('lat', ${lat}, 'lng', ${lng}) end`
}
