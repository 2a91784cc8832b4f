/**
 * Sorts documents by their distance to a point.
 *
 * Source: search §9.
 * 1. Documents within one metre of the first document of a bucket share its bucket, and its point in the details.
 * 2. Few candidates are sorted by whole metres, then by docid; many candidates by exact distance.
 * 3. Documents without a point come last in both directions.
 */
import { metresBetween } from '../../facets/geo.js'
import type { GeoPoint } from '../../index-data/index-data.js'
import type { RankingRule } from '../rule.js'

const SAME_PLACE_METRES = 1
const BUCKET_MAX = 1000
/** From this number on, Meilisearch walks a spatial tree, which sorts by exact distance. */
const MANY_CANDIDATES = 1000

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
    const exact = placed.length >= MANY_CANDIDATES
    const key = (distance: number): number => (exact ? distance : Math.floor(distance))
    placed.sort((a, b) => key(a.distance) - key(b.distance) || a.docid - b.docid)
    if (!ascending) placed.reverse()
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
    const rest = docids.filter((docid) => points[docid] === undefined)
    if (rest.length > 0)
      yield { docids: rest, graph, detail: { rule: 'geo', target, ascending, value: null, distance: null } }
  }
}
