/** Columns of fields, and of the coordinates of `_geo`, which have no column of their own. Source: search §13. */
import type { ColumnIndex } from '../index-data/index-data.js'
import { Column } from './columns.js'

/** Names of the coordinates of `_geo`, with their position in a point. */
export const COORDINATES: ReadonlyMap<string, 0 | 1> = new Map([
  ['_geo.lat', 0],
  ['_geo.lng', 1],
])

/** Column of a field or coordinate; undefined if no document has had it. */
export function columnOf({ byPath, points }: Omit<ColumnIndex, 'shapes'>, field: string): Column | undefined {
  const coordinate = COORDINATES.get(field)
  if (coordinate === undefined) return byPath.get(field)
  const rows = points.flatMap((point, docid) =>
    point === undefined
      ? []
      : [{ docid, leaf: { numbers: [point[coordinate]], strings: [], isNull: false, isEmpty: false } }],
  )
  if (rows.length === 0) return undefined
  const column = new Column()
  column.apply(rows, points.length)
  return column
}
