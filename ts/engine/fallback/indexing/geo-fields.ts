/** Validates the geo fields of documents. Source: documents §4.4–4.5. */
import type { IndexSettings } from '../../../settings/index.js'
import { GeoError, geoPoint } from '../facets/geo-point.js'
import { GeojsonError, geoShapes } from '../facets/geojson.js'
import { usesGeo, usesGeojson } from '../fields/rules.js'
import type { JsonObject } from '../store/json.js'
import { OperationError } from './primary-key.js'

/** Parses the geo fields that the settings use, and rejects malformed values. */
export class GeoFieldReader {
  private readonly geo: boolean
  private readonly geojson: boolean

  constructor(settings: IndexSettings) {
    this.geo = usesGeo(settings)
    this.geojson = usesGeojson(settings)
  }

  /** Reads the fields that `settings` use but `before` did not. */
  static newlyRead(settings: IndexSettings, before: IndexSettings): GeoFieldReader {
    return new GeoFieldReader({
      ...settings,
      filterableAttributes: settings.filterableAttributes.filter(
        (rule) => (rule === '_geo' && !usesGeo(before)) || (rule === '_geojson' && !usesGeojson(before)),
      ),
      sortableAttributes: usesGeo(before) ? [] : settings.sortableAttributes,
    })
  }

  get any(): boolean {
    return this.geo || this.geojson
  }

  /** @throws OperationError `invalid_document_geo_field` */
  read(document: JsonObject, id: string): void {
    try {
      if (this.geo) geoPoint(document)
      if (this.geojson) geoShapes(document)
    } catch (error) {
      const field = error instanceof GeojsonError ? '`_geojson`: ' : ''
      if (!(error instanceof GeoError || error instanceof GeojsonError)) throw error
      throw new OperationError('invalid_document_geo_field', `document \`${id}\`: ${field}${error.message}`)
    }
  }
}
