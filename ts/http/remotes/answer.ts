import { readScoreValue, type ScoreValue } from '../../engine/index.js'
import { type JsonNode, toValue } from '../../operations/index.js'

/** The answer of an instance to its queries of a federated search. Hits are in order. */
export interface FederatedPart {
  readonly hits: readonly PartHit[]
  readonly processingTimeMs: number
  readonly total: number
  /** Number of hits on all pages that vectors found; null: no query was hybrid. */
  readonly semanticHits: number | null
  readonly facetsByIndex: ReadonlyMap<string, PartFacets>
  /** By position of the query, as decimal text. */
  readonly queryVectors: ReadonlyMap<string, unknown>
  /** Metadata of each query, in order; null if the request did not ask for it. */
  readonly metadata: readonly Readonly<Record<string, unknown>>[] | null
}

/** A hit, and the values that rank it among the hits of other instances. */
export interface PartHit {
  /** The members of the hit, with numbers as the remote wrote them. */
  readonly entries: readonly (readonly [string, JsonNode])[]
  readonly indexUid: string
  readonly queriesPosition: number
  /** The weighted ranking score. */
  readonly score: number
  /** The same, as the remote wrote it. */
  readonly scoreText: string
  readonly values: readonly ScoreValue[]
  readonly distinct: readonly (number | string)[]
}

export interface PartFacets {
  /** Facet → value → count, in the order of the answer. */
  readonly distribution: ReadonlyMap<string, ReadonlyMap<string, number>>
  readonly stats: ReadonlyMap<string, { readonly min: Bound; readonly max: Bound }>
}

/** A number as the remote wrote it. */
export interface Bound {
  readonly value: number
  readonly text: string
}

/** Reads the answer of another instance to a federated search; null if it has another shape. */
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
  const federation = membersOf(node.entries.find(([key]) => key === '_federation')?.[1])
  if (federation === null) return null
  const indexUid = federation.get('indexUid')
  const queriesPosition = numberOf(federation.get('queriesPosition'))
  const score = federation.get('weightedRankingScore')
  const values = federation.get('weightedScoreValues')
  if (indexUid?.kind !== 'string' || queriesPosition === null || score?.kind !== 'number') return null
  if (values?.kind !== 'array') return null
  const read = values.items.map((value) => readScoreValue(toValue(value)))
  if (read.includes(null)) return null
  const distinct = federation.get('distinctValues')
  const distinctValues = distinct?.kind === 'array' ? distinct.items.map(toValue) : []
  return {
    entries: node.entries,
    indexUid: indexUid.value,
    queriesPosition,
    score: Number(score.text),
    scoreText: score.text,
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
    const [min, max] = ['min', 'max'].map((name) => boundOf(membersOf(bounds)?.get(name)))
    return min && max ? [[facet, { min, max }] as const] : []
  })
  return { distribution: new Map(distribution), stats: new Map(stats) }
}

const membersOf = (node: JsonNode | undefined): ReadonlyMap<string, JsonNode> | null =>
  node?.kind === 'object' ? new Map(node.entries) : null

const boundOf = (node: JsonNode | undefined): Bound | null =>
  node?.kind === 'number' ? { value: Number(node.text), text: node.text } : null

const numberOf = (node: JsonNode | undefined): number | null =>
  node?.kind === 'number' ? Number(node.text) : null
