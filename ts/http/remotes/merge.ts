import { compareScoreValues, interleaved } from '../../engine/index.js'
import type { ErrorBody } from '../../errors/index.js'
import { type JsonNode, toText } from '../../operations/index.js'
import type { FederatedPart, PartFacets, PartHit } from './answer.js'

/** The answer of one instance of the network. */
export interface NamedPart {
  /** The name of the instance in the network; null: this instance, if it has no name. */
  readonly remote: string | null
  readonly part: FederatedPart
}

/** Options for merging the answers of several instances. */
interface MergeOptions {
  readonly paging:
    | { readonly kind: 'offset'; readonly offset: number; readonly limit: number }
    | { readonly kind: 'page'; readonly page: number; readonly hitsPerPage: number }
  readonly distinct: boolean
  readonly mergeFacets: { readonly maxValuesPerFacet: number | null } | null
  /** Metadata of each query, in order; null if the request did not ask for it. */
  readonly metadata: readonly unknown[] | null
  readonly requestUid: string
  /** Duration of the search in milliseconds; null if the request did not ask for performance details. */
  readonly performanceMs: number | null
  /** null: the request names no remotes, so neither does the answer. */
  readonly remoteErrors: ReadonlyMap<string, ErrorBody> | null
}

/** Returns the merged answer as JSON. Each hit names its instance if the request names remotes. */
export function mergedAnswer(parts: readonly NamedPart[], options: MergeOptions): string {
  const { paging } = options
  const { from, to } = windowOf(paging)
  const { hits, dropped } = mergedHits(parts, options.distinct, to)
  const total = parts.reduce((sum, { part }) => sum + part.total, 0) - dropped
  const semantic = parts.flatMap(({ part }) => part.semanticHits ?? [])
  const page = hits.slice(from, to)
  const semanticHits = Math.min(
    page.length,
    semantic.reduce((sum, count) => sum + count, 0),
  )
  const vectors = Object.fromEntries(parts.flatMap(({ part }) => [...part.queryVectors]))
  const members = [
    `"hits":[${page.map((hit) => hitText(hit, options.remoteErrors !== null)).join(',')}]`,
    ...(Object.keys(vectors).length === 0 ? [] : [`"queryVectors":${JSON.stringify(vectors)}`]),
    `"processingTimeMs":${Math.max(0, ...parts.map(({ part }) => part.processingTimeMs))}`,
    pagingText(paging, total),
    ...facetTexts(parts, options.mergeFacets),
    `"requestUid":${JSON.stringify(options.requestUid)}`,
    ...(options.metadata === null ? [] : [`"metadata":${JSON.stringify(options.metadata)}`]),
    ...(options.performanceMs === null
      ? []
      : [`"performanceDetails":{"search":"${options.performanceMs.toFixed(2)}ms"}`]),
    ...(options.remoteErrors === null
      ? []
      : [`"remoteErrors":${JSON.stringify(Object.fromEntries(options.remoteErrors))}`]),
    ...(semantic.length === 0 ? [] : [`"semanticHitCount":${semanticHits}`]),
  ]
  return `{${members.join(',')}}`
}

function windowOf(paging: MergeOptions['paging']): { from: number; to: number } {
  if (paging.kind === 'offset') return { from: paging.offset, to: paging.offset + paging.limit }
  const from = Math.max(0, paging.page - 1) * paging.hitsPerPage
  return { from, to: paging.page === 0 ? from : from + paging.hitsPerPage }
}

function pagingText(paging: MergeOptions['paging'], total: number): string {
  if (paging.kind === 'offset')
    return `"limit":${paging.limit},"offset":${paging.offset},"estimatedTotalHits":${total}`
  const pages = paging.hitsPerPage === 0 ? 0 : Math.ceil(total / paging.hitsPerPage)
  return `"hitsPerPage":${paging.hitsPerPage},"page":${paging.page},"totalPages":${pages},"totalHits":${total}`
}

interface NamedHit {
  readonly remote: string | null
  readonly hit: PartHit
}

const pinOf = ({ hit: { values } }: NamedHit): number | null =>
  values[0]?.kind === 'pin' ? values[0].position : null

/** Returns the first `wanted` hits of all parts by rank. Equal hits come in the order of their queries. */
function mergedHits(
  parts: readonly NamedPart[],
  isDistinct: boolean,
  wanted: number,
): { hits: readonly NamedHit[]; dropped: number } {
  const taken = new Set<number | string>()
  let dropped = 0
  const admits = ({ hit }: NamedHit): boolean => {
    if (!isDistinct) return true
    if (hit.distinct.some((value) => taken.has(value))) {
      dropped++
      return false
    }
    for (const value of hit.distinct) taken.add(value)
    return true
  }
  const all = parts.map(({ remote, part }) => part.hits.map((hit) => ({ remote, hit })))
  const pinPosition = (hit: NamedHit): number => pinOf(hit) ?? 0
  const pins = all
    .flat()
    .filter((hit) => pinOf(hit) !== null)
    .filter(admits)
    .sort((a, b) => pinPosition(a) - pinPosition(b))
  const lists = all.map((hits) => hits.filter((hit) => pinOf(hit) === null))
  const next = lists.map(() => 0)
  const hits: NamedHit[] = []
  while (hits.length < wanted) {
    let best: { readonly list: number; readonly head: NamedHit } | null = null
    for (const [list, heads] of lists.entries()) {
      const head = heads[next[list] ?? 0]
      if (head !== undefined && (best === null || compareHits(head.hit, best.head.hit) < 0))
        best = { list, head }
    }
    if (best === null) break
    next[best.list] = (next[best.list] ?? 0) + 1
    if (admits(best.head)) hits.push(best.head)
  }
  return { hits: interleaved(pins, hits, wanted, pinPosition), dropped }
}

const compareHits = (a: PartHit, b: PartHit): number =>
  compareScoreValues(a, b) || a.queriesPosition - b.queriesPosition

function hitText({ remote, hit }: NamedHit, namesRemotes: boolean): string {
  const { indexUid, queriesPosition, scoreText, entries } = hit
  const federation = [
    `"indexUid":${JSON.stringify(indexUid)},"queriesPosition":${queriesPosition},"weightedRankingScore":${scoreText}`,
    ...(namesRemotes ? [`"remote":${JSON.stringify(remote)}`] : []),
  ]
  const members = entries.map(([key, value]: readonly [string, JsonNode]) =>
    key === '_federation'
      ? `"_federation":{${federation.join(',')}}`
      : `${JSON.stringify(key)}:${toText(value)}`,
  )
  return `{${members.join(',')}}`
}

type Counts = ReadonlyMap<string, number>

function facetTexts(parts: readonly NamedPart[], merge: MergeOptions['mergeFacets']): readonly string[] {
  const byIndex = new Map<string, PartFacets[]>()
  for (const { part } of parts)
    for (const [uid, facets] of part.facetsByIndex) byIndex.set(uid, [...(byIndex.get(uid) ?? []), facets])
  if (byIndex.size === 0) return []
  if (merge === null) {
    const indexes = [...byIndex].sort(([a], [b]) => (a < b ? -1 : 1))
    const joined = indexes.map(([uid, facets]) => {
      const { distribution, stats } = mergedFacets(facets, Number.POSITIVE_INFINITY)
      return `${JSON.stringify(uid)}:{"distribution":${distribution},"stats":${stats}}`
    })
    return [`"facetsByIndex":{${joined.join(',')}}`]
  }
  const most = merge.maxValuesPerFacet ?? Number.POSITIVE_INFINITY
  const { distribution, stats } = mergedFacets([...byIndex.values()].flat(), most)
  return [`"facetDistribution":${distribution}`, `"facetStats":${stats}`]
}

/**
 * Merges the facets of several instances: sums the counts per value and takes the outer bounds of stats. Returns JSON
 * objects.
 */
function mergedFacets(facets: readonly PartFacets[], most: number): { distribution: string; stats: string } {
  const names = (maps: readonly ReadonlyMap<string, unknown>[]): string[] =>
    [...new Set(maps.flatMap((map) => [...map.keys()]))].sort()
  const distributions = facets.map(({ distribution }) => distribution)
  const shown = names(distributions).map((facet) => {
    const counts = mergedCounts(distributions.flatMap((one) => one.get(facet) ?? []))
    const values = counts.slice(0, most).map(([value, count]) => `${JSON.stringify(value)}:${count}`)
    return `${JSON.stringify(facet)}:{${values.join(',')}}`
  })
  const bounds = facets.map(({ stats }) => stats)
  const stats = names(bounds).map((facet) => {
    const all = bounds.flatMap((one) => one.get(facet) ?? [])
    const min = all.map((one) => one.min).reduce((a, b) => (b.value < a.value ? b : a))
    const max = all.map((one) => one.max).reduce((a, b) => (b.value > a.value ? b : a))
    return `${JSON.stringify(facet)}:{"min":${min.text},"max":${max.text}}`
  })
  return { distribution: `{${shown.join(',')}}`, stats: `{${stats.join(',')}}` }
}

/**
 * Sums the counts per value. Sorts by count if all parts are sorted by count but not all by value; else by value. A
 * single part keeps its order.
 */
function mergedCounts(parts: readonly Counts[]): readonly (readonly [string, number])[] {
  const [first] = parts
  if (first === undefined) return []
  if (parts.length === 1) return [...first]
  const counts = new Map<string, number>()
  for (const part of parts)
    for (const [value, count] of part) counts.set(value, (counts.get(value) ?? 0) + count)
  const byCount = parts.every(isByCount) && !parts.every(isByValue)
  return [...counts].sort(([a, countA], [b, countB]) =>
    byCount && countA !== countB ? countB - countA : a < b ? -1 : 1,
  )
}

const isByCount = (counts: Counts): boolean => {
  const all = [...counts.values()]
  return all.every((count, at) => at === 0 || count <= (all[at - 1] ?? 0))
}

const isByValue = (counts: Counts): boolean => {
  const all = [...counts.keys()]
  return all.every((value, at) => at === 0 || value >= (all[at - 1] ?? ''))
}
