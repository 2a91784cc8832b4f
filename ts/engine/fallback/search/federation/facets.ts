/** Facets of a federated search: by index, or merged into one distribution. */
import { EngineError } from '../../../engine-error.js'
import type { FederationRequest } from '../../../requests.js'
import { columnOf } from '../../facets/coordinates.js'
import type { OpenIndex } from '../../open-index.js'
import { DocSet } from '../../store/docid-set.js'
import { floatText } from '../../store/json.js'
import { compareUtf8 } from '../../store/text-order.js'
import type { Bounds } from '../bounds.js'
import { prefixOf } from '../candidates.js'
import {
  countFacet,
  countsJson,
  type FacetCount,
  facetOrder,
  facetParts,
  selectedFacets,
  statsOf,
} from '../facets.js'
import type { RankedQuery } from './query.js'

interface IndexCandidates {
  readonly uid: string
  /** Union over all queries of the index. */
  readonly found: DocSet
  /** Found documents, except those that share a value of the distinct attribute with a better hit. */
  readonly documents: DocSet
}

export function candidatesByIndex(queries: readonly RankedQuery[]): Map<OpenIndex, IndexCandidates> {
  const byIndex = new Map<OpenIndex, IndexCandidates>()
  for (const { index, request, found } of queries) {
    const known = byIndex.get(index)
    const documents = known?.found ?? new DocSet(0)
    byIndex.set(index, { uid: request.indexUid, found: found.counted.clone().union(documents), documents })
  }
  for (const [index, { uid, found }] of byIndex) byIndex.set(index, { uid, found, documents: found.clone() })
  return byIndex
}

export function facetsText(
  byIndex: ReadonlyMap<OpenIndex, IndexCandidates>,
  federation: FederationRequest,
  bounds: Bounds,
): string {
  const requested = [...byIndex].flatMap(([index, { uid, found, documents }]) => {
    const facets = Object.hasOwn(federation.facetsByIndex, uid) ? federation.facetsByIndex[uid] : null
    // An index with an empty facet list gets an empty distribution; an index with null is omitted.
    return facets === null || facets === undefined ? [] : [{ index, uid, found, documents, facets }]
  })
  if (requested.length === 0) return ''
  if (federation.mergeFacets !== null)
    return mergedFacets(requested, federation.mergeFacets.maxValuesPerFacet)
  const parts = requested
    .sort((a, b) => compareUtf8(a.uid, b.uid))
    .map(({ index, uid, found, documents, facets }) => {
      const { distribution, stats } = facetParts(index, facets, { documents, found }, prefixOf(uid), bounds)
      return `${JSON.stringify(uid)}:{"distribution":${distribution},"stats":${stats}}`
    })
  return `,"facetsByIndex":{${parts.join(',')}}`
}

interface MergedFacet {
  readonly uid: string
  readonly order: 'alpha' | 'count'
  readonly counts: Map<string, FacetCount>
  stats: { min: number; max: number } | null
}

function mergedFacets(
  requested: readonly {
    readonly index: OpenIndex
    readonly uid: string
    readonly found: DocSet
    readonly documents: DocSet
    readonly facets: readonly string[]
  }[],
  most: number | null,
): string {
  const merged = new Map<string, MergedFacet>()
  for (const { index, uid, found, documents, facets } of requested) {
    const { settings, columns } = index.data
    for (const field of selectedFacets(index, facets, prefixOf(uid))) {
      const order = facetOrder(settings.faceting.sortFacetValuesBy, field)
      const known = merged.get(field) ?? { uid, order, counts: new Map<string, FacetCount>(), stats: null }
      merged.set(field, known)
      if (known.order !== order)
        throw new EngineError(
          'invalid_multi_search_facet_order',
          `facet \`${field}\` is ordered by ${known.order} in index \`${known.uid}\` and by ${order} in ` +
            `index \`${uid}\`, so it cannot be merged`,
        )
      const column = columnOf(columns, field)!
      const counts = countFacet(column, documents.toArray(), order, settings.faceting.maxValuesPerFacet)
      const stats = statsOf(column, found.toArray())
      // A string that prints like a number replaces the number.
      for (const count of new Map(counts.map((count) => [count.key, count])).values()) {
        const before = known.counts.get(count.key)
        known.counts.set(count.key, { ...count, count: count.count + (before?.count ?? 0) })
      }
      if (stats !== null)
        known.stats = {
          min: Math.min(stats.min, known.stats?.min ?? stats.min),
          max: Math.max(stats.max, known.stats?.max ?? stats.max),
        }
    }
  }
  const fields = [...merged].sort(([a], [b]) => compareUtf8(a, b))
  const distributions = fields.map(([field, { order, counts }]) => {
    const ordered = [...counts.values()].sort((a, b) =>
      order === 'count' ? b.count - a.count || compareUtf8(a.key, b.key) : compareUtf8(a.key, b.key),
    )
    return `${JSON.stringify(field)}:${countsJson(most === null ? ordered : ordered.slice(0, most))}`
  })
  const stats = fields.flatMap(([field, { stats }]) =>
    stats === null
      ? []
      : [`${JSON.stringify(field)}:{"min":${floatText(stats.min)},"max":${floatText(stats.max)}}`],
  )
  return `,"facetDistribution":{${distributions.join(',')}},"facetStats":{${stats.join(',')}}`
}
