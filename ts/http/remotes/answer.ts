import { readScoreValue, type ScoreValue } from '../../engine/index.js'
import { type JsonNode, toValue } from '../../requests/index.js'

/** What one instance found for its part of a federated search, its hits in order. */
export interface FederatedPart {
  readonly hits: readonly PartHit[]
  readonly processingTimeMs: number
  readonly total: number
  /** Hits of all pages that came from vectors; null: none was asked for. */
  readonly semanticHits: number | null
  readonly facetsByIndex: ReadonlyMap<string, PartFacets>
  /** By position of the query. */
  readonly queryVectors: ReadonlyMap<string, unknown>
  /** One per query, in their order; null unless asked for. */
  readonly metadata: readonly Readonly<Record<string, unknown>>[] | null
}

/** A hit, and what it is compared by. */
export interface PartHit {
  /** The members of the document and what was asked for with it, numbers as they were written. */
  readonly entries: readonly (readonly [string, JsonNode])[]
  readonly indexUid: string
  readonly queriesPosition: number
  readonly score: number
  readonly values: readonly ScoreValue[]
  readonly distinct: readonly (number | string)[]
}

export interface PartFacets {
  /** Facet → value → count, in order. */
  readonly distribution: ReadonlyMap<string, ReadonlyMap<string, number>>
  readonly stats: ReadonlyMap<string, { readonly min: number; readonly max: number }>
}

/** Reads the answer of a federated search that was asked for another instance; null if it is none. */
export function readPart(node: JsonNode): FederatedPart | null {
  const members = membersOf(node)
  const hits = members?.get('hits')
  if (members === null || hits?.kind !== 'array') return null
  const read = hits.items.map(readHit)
  const total = numberOf(members.get('estimatedTotalHits') ?? members.get('totalHits'))
  const processingTimeMs = numberOf(members.get('processingTimeMs'))
  if (total === null || processingTimeMs === null || read.includes(null)) return null
  const metadata = members.get('metadata')
  return {
    hits: read.filter((hit) => hit !== null),
    processingTimeMs,
    total,
    semanticHits: numberOf(members.get('semanticHitCount')),
    facetsByIndex: new Map(
      [...(membersOf(members.get('facetsByIndex')) ?? [])].map(([uid, facets]) => [uid, readFacets(facets)]),
    ),
    queryVectors: new Map(
      [...(membersOf(members.get('queryVectors')) ?? [])].map(([position, vector]) => [
        position,
        toValue(vector),
      ]),
    ),
    metadata:
      metadata?.kind === 'array'
        ? metadata.items.map((item) => toValue(item) as Readonly<Record<string, unknown>>)
        : null,
  }
}

function readHit(node: JsonNode): PartHit | null {
  if (node.kind !== 'object') return null
  const place = membersOf(node.entries.find(([key]) => key === '_federation')?.[1])
  if (place === null) return null
  const indexUid = place.get('indexUid')
  const queriesPosition = numberOf(place.get('queriesPosition'))
  const score = numberOf(place.get('weightedRankingScore'))
  const values = place.get('weightedScoreValues')
  if (indexUid?.kind !== 'string' || queriesPosition === null || score === null) return null
  if (values?.kind !== 'array') return null
  const read = values.items.map((value) => readScoreValue(toValue(value)))
  if (read.includes(null)) return null
  const distinct = place.get('distinctValues')
  const distinctValues = distinct?.kind === 'array' ? distinct.items.map(toValue) : []
  return {
    entries: node.entries,
    indexUid: indexUid.value,
    queriesPosition,
    score,
    values: read.filter((value) => value !== null),
    distinct: distinctValues.filter((value) => typeof value === 'number' || typeof value === 'string'),
  }
}

function readFacets(node: JsonNode): PartFacets {
  const members = membersOf(node)
  const distribution = [...(membersOf(members?.get('distribution')) ?? [])].map(
    ([facet, counts]) =>
      [
        facet,
        new Map([...(membersOf(counts) ?? [])].map(([value, count]) => [value, numberOf(count) ?? 0])),
      ] as const,
  )
  const stats = [...(membersOf(members?.get('stats')) ?? [])].flatMap(([facet, bounds]) => {
    const [min, max] = ['min', 'max'].map((name) => numberOf(membersOf(bounds)?.get(name)))
    return typeof min === 'number' && typeof max === 'number' ? [[facet, { min, max }] as const] : []
  })
  return { distribution: new Map(distribution), stats: new Map(stats) }
}

const membersOf = (node: JsonNode | undefined): ReadonlyMap<string, JsonNode> | null =>
  node?.kind === 'object' ? new Map(node.entries) : null

const numberOf = (node: JsonNode | undefined): number | null =>
  node?.kind === 'number' ? Number(node.text) : null
