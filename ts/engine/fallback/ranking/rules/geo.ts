/**
 * Sorts documents by their distance to a point.
 *
 * Source: search §9.
 * 1. Documents within one metre of the first document of a bucket share its bucket, and its point in the details.
 * 2. Candidates are sorted by exact distance, a thousand at a time. The rest, or all of fewer than a thousand, are sorted
 *    by whole metres, then by docid.
 * 3. Documents without a point come last in both directions.
 */
import { metresBetween } from '../../facets/geo.js'
import type { GeoPoint } from '../../index-data/index-data.js'
import type { RankingRule } from '../rule.js'

const SAME_PLACE_METRES = 1
const BUCKET_MAX = 1000
/** From this number on, Meilisearch walks a spatial tree, which sorts by exact distance. */
const EXACT_FROM = 1000

/** Reference point and direction. */
interface GeoSort {
  readonly target: GeoPoint
  readonly ascending: boolean
}

export function geoRule(
  points: readonly (GeoPoint | undefined)[],
  { target, ascending }: GeoSort,
): RankingRule {
  return function* (docids, graph) {
    const placed = Array.from(docids).flatMap((docid) => {
      const point = points[docid]
      return point === undefined ? [] : [{ docid, point, distance: metresBetween(target, point) }]
    })
    const sign = ascending ? 1 : -1
    placed.sort((a, b) => sign * (a.distance - b.distance) || a.docid - b.docid)
    const rest = placed.splice(placed.length - (placed.length % EXACT_FROM))
    rest.sort((a, b) => sign * (Math.floor(a.distance) - Math.floor(b.distance) || a.docid - b.docid))
    for (const last of rest) placed.push(last)
    for (let from = 0; from < placed.length; ) {
      const first = placed[from]!
      let to = from + 1
      while (
        to < placed.length &&
        to - from < BUCKET_MAX &&
        Math.abs(placed[to]!.distance - first.distance) <= SAME_PLACE_METRES
      )
        to++
      yield {
        docids: Uint32Array.from(placed.slice(from, to), ({ docid }) => docid).sort(),
        graph,
        detail: { rule: 'geo', target, ascending, value: first.point, distance: first.distance },
      }
      from = to
    }
    const elsewhere = docids.filter((docid) => points[docid] === undefined)
    if (elsewhere.length > 0)
      yield {
        docids: elsewhere,
        graph,
        detail: { rule: 'geo', target, ascending, value: null, distance: null },
      }
  }
}
