/**
 * Writes hits.
 *
 * Source: search §15, §10.4.
 * 1. A field is shown if it is displayed and retrieved; keys keep the order of the document.
 * 2. Computed keys follow in a fixed order: vectors, distance, formatted, positions, scores.
 * 3. Vectors are shown only on request. Once any document had vectors, a displayed list that names `_vectors` hides
 *    them.
 * 4. A distance needs a point that the hit still shows.
 */

import type { ForeignKey, SearchRequest } from '../../requests.js'
import { metresBetween } from '../facets/geo.js'
import { GeoError, geoPoint } from '../facets/geo-point.js'
import { covers } from '../fields/patterns.js'
import { displaysEverything } from '../fields/rules.js'
import { type GeoPoint, storedObject } from '../index-data/index-data.js'
import type { OpenIndex } from '../open-index.js'
import { detailsJson, globalScore, type Ranked } from '../ranking/index.js'
import { floatText, type JsonObject, writeJson } from '../store/json.js'
import { shownVectors } from '../vector/index.js'
import type { AnswerBytes } from './answer-bytes.js'
import type { Bounds } from './bounds.js'
import { Formatter } from './format/formatter.js'
import type { Hydration } from './hydration.js'
import { commonPaths, selectPaths } from './projection.js'
import type { RankedSearch } from './ranked-search.js'
import { isShownAsStored } from './stored-text.js'

/** Returns true if a field is displayed. */
export const isDisplayed = ({ data: { settings } }: OpenIndex, field: string): boolean =>
  displaysEverything(settings) || settings.displayedAttributes.some((entry) => covers(entry, field))

/** Returns `_rankingScoreDetails` as JSON text; values of fields that are not displayed are hidden. */
export function renderedDetails(index: OpenIndex, details: Ranked['details']): string {
  return detailsJson(details, {
    unifiedAttribute: index.data.settings.rankingRules.includes('attribute'),
    isDisplayed: (field) => isDisplayed(index, field),
  })
}

/** Writes the hits of one page. */
export class HitWriter {
  private readonly index: OpenIndex
  private readonly request: SearchRequest
  private readonly formatter: Formatter
  private readonly retrieved: readonly string[] | null
  /** Paths of the shown document fields; null: all. */
  private readonly shown: readonly string[] | null
  private readonly target: GeoPoint | null
  private readonly bounds: Bounds
  private readonly keys: readonly ForeignKey[]
  /** null: ids are not replaced by documents. */
  private readonly hydration: Hydration | null

  constructor(
    index: OpenIndex,
    request: SearchRequest,
    { candidates, sort }: Pick<RankedSearch, 'candidates' | 'sort'>,
    { bounds, hydration }: { readonly bounds: Bounds; readonly hydration: Hydration | null },
  ) {
    this.bounds = bounds
    this.keys = request.foreignKeys ?? []
    this.hydration = this.keys.length === 0 ? null : hydration
    this.hydration?.requireIndexes(this.keys)
    this.index = index
    this.request = request
    this.retrieved =
      request.attributesToRetrieve === null || request.attributesToRetrieve.includes('*')
        ? null
        : request.attributesToRetrieve
    const displayed = displaysEverything(index.data.settings) ? null : index.data.settings.displayedAttributes
    this.shown =
      this.retrieved === null || displayed === null
        ? (this.retrieved ?? displayed)
        : commonPaths(displayed, this.retrieved)
    this.formatter = new Formatter(index, request, candidates, this.retrieved && this.shown, bounds)
    const geo = sort.find((criterion) => criterion.kind === 'geo')
    this.target = geo?.kind === 'geo' ? geo.target : null
  }

  /** Collects the documents of other indexes that the hit refers to. */
  collect(docid: number): void {
    const document = storedObject(this.index.data.documents[docid]!)
    document.delete('_vectors')
    this.hydration?.collect(this.keys, this.retrievedOf(this.displayedOf(document)))
  }

  /** Writes a hit as JSON. If the document is shown unchanged, its stored bytes are copied. */
  write(ranked: Ranked, out: AnswerBytes): void {
    const stored = this.storedDocument(ranked.docid)
    if (stored === null) out.write(this.hit(ranked))
    else {
      this.bounds.check()
      out.write('{')
      out.copy(stored)
      const scores = this.scores(ranked).join(',')
      out.write(stored.length > 0 && scores !== '' ? `,${scores}}` : `${scores}}`)
    }
  }

  /** Returns a hit as JSON text. @param extra further keys before the scores, as JSON text */
  hit(ranked: Ranked, extra = ''): string {
    this.bounds.check()
    const parts = this.documentParts(ranked.docid)
    if (extra !== '') parts.push(extra)
    return `{${[...parts, ...this.scores(ranked)].join(',')}}`
  }

  /** The requested scores, as keys with their values. */
  private scores({ details }: Ranked): string[] {
    const parts: string[] = []
    if (this.request.showRankingScore) parts.push(`"_rankingScore":${floatText(globalScore(details))}`)
    if (this.request.showRankingScoreDetails)
      parts.push(`"_rankingScoreDetails":${renderedDetails(this.index, details)}`)
    return parts
  }

  /** Stored bytes of a document without its braces, if it is shown unchanged; otherwise null. */
  private storedDocument(docid: number): Uint8Array | null {
    if (this.shown !== null || this.target !== null || this.formatter.isRequested) return null
    if (this.hydration !== null) return null
    if (this.request.retrieveVectors) return null
    const { source } = this.index.data.documents[docid]!
    return isShownAsStored(source) ? source.subarray(1, -1) : null
  }

  /** Document fields and computed keys of a hit, with their values. */
  private documentParts(docid: number): string[] {
    const { settings, documents } = this.index.data
    const document = storedObject(documents[docid]!)
    const vectors = document.get('_vectors')
    document.delete('_vectors')
    const displayed = this.displayedOf(document)
    const shown = this.retrievedOf(displayed)
    const parts: string[] = []
    for (const [name, value] of this.hydrated(shown))
      parts.push(`${JSON.stringify(name)}:${writeJson(value)}`)
    if (this.request.retrieveVectors && this.showsVectors())
      parts.push(`"_vectors":${writeJson(shownVectors(this.index.data, docid, vectors))}`)
    const distance = this.target === null ? null : distanceOf(shown, this.target)
    if (distance !== null) parts.push(`"_geoDistance":${distance}`)
    // Source: recorded answers. A formatted copy of a complete document includes stored vectors, whatever is requested.
    const everything = this.retrieved === null && displaysEverything(settings) && vectors !== undefined
    parts.push(
      ...this.formatter.parts(
        everything ? new Map([...displayed, ['_vectors', vectors]]) : displayed,
        (formatted) => this.hydrated(formatted),
      ),
    )
    return parts
  }

  private displayedOf(document: JsonObject): JsonObject {
    const { settings } = this.index.data
    return displaysEverything(settings) ? document : selectPaths(document, settings.displayedAttributes)
  }

  /** Selecting one after the other keeps a key `a.b` hidden if only `a` is displayed, which `commonPaths` cannot express. */
  private retrievedOf(displayed: JsonObject): JsonObject {
    return this.shown === null ? displayed : selectPaths(displayed, this.shown)
  }

  private hydrated(object: JsonObject): JsonObject {
    return this.hydration === null ? object : this.hydration.hydrated(this.keys, object)
  }

  private showsVectors(): boolean {
    const { settings, fieldIds, vectors } = this.index.data
    if (displaysEverything(settings)) return true
    const named = settings.displayedAttributes.includes('_vectors')
    return fieldIds.has('_vectors') || vectors.size > 0 ? !named : named
  }
}

function distanceOf(document: JsonObject, target: GeoPoint): number | null {
  try {
    const point = geoPoint(document)
    return point === undefined ? null : Math.round(metresBetween(target, point))
  } catch (error) {
    if (error instanceof GeoError) return null
    throw error
  }
}
