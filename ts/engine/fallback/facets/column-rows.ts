/** Collects the column changes of changed documents. */
import type { IndexSettings } from '../../../settings/index.js'
import { facetLeaves } from '../fields/flatten.js'
import { needsColumn, usesGeo, usesGeojson } from '../fields/rules.js'
import type { ColumnIndex, GeoPoint } from '../index-data/index-data.js'
import type { JsonObject } from '../store/json.js'
import { Column, type RowChange } from './columns.js'
import { GeoError, geoPoint } from './geo-point.js'
import { GeojsonError, geoShapes, type Shape } from './geojson.js'

/** Collects changes of columns. */
export class ColumnRows {
  readonly byPath = new Map<string, RowChange[]>()
  readonly points = new Map<number, GeoPoint | undefined>()
  readonly shapes = new Map<number, readonly Shape[] | undefined>()
  private readonly wanted = new Map<string, boolean>()
  private readonly settings: IndexSettings
  private readonly geo: boolean
  private readonly geojson: boolean

  constructor(settings: IndexSettings) {
    this.settings = settings
    this.geo = usesGeo(settings)
    this.geojson = usesGeojson(settings)
  }

  forget(docid: number, columns: ColumnIndex): void {
    for (const path of columns.byPath.keys()) this.push(path, { docid, leaf: undefined })
    this.points.set(docid, undefined)
    this.shapes.set(docid, undefined)
  }

  put(docid: number, document: JsonObject): void {
    for (const [path, leaf] of facetLeaves(document)) {
      let wanted = this.wanted.get(path)
      if (wanted === undefined) {
        wanted = needsColumn(this.settings, path)
        this.wanted.set(path, wanted)
      }
      if (wanted) this.push(path, { docid, leaf })
    }
    if (this.geo) this.points.set(docid, wellFormed(document, geoPoint))
    if (this.geojson) this.shapes.set(docid, wellFormed(document, geoShapes))
  }

  private push(path: string, change: RowChange): void {
    const list = this.byPath.get(path)
    if (list === undefined) this.byPath.set(path, [change])
    else list.push(change)
  }
}

/** Malformed values are refused on input; those from old data are ignored. */
function wellFormed<T>(document: JsonObject, read: (document: JsonObject) => T): T | undefined {
  try {
    return read(document)
  } catch (error) {
    if (error instanceof GeoError || error instanceof GeojsonError) return undefined
    throw error
  }
}

/** Builds columns with only these rows. @param bound exclusive upper bound of docids */
export function rebuiltColumns(rows: ColumnRows, bound: number): ColumnIndex {
  const byPath = new Map<string, Column>()
  for (const [path, changes] of rows.byPath) {
    const column = new Column()
    column.apply(changes, bound)
    byPath.set(path, column)
  }
  const points: (GeoPoint | undefined)[] = []
  for (const [docid, point] of rows.points) points[docid] = point
  const shapes: (readonly Shape[] | undefined)[] = []
  for (const [docid, covered] of rows.shapes) shapes[docid] = covered
  return { byPath, points, shapes }
}
