import { isDeepStrictEqual } from 'node:util'
import { SCORE_TOLERANCE } from './limits.js'

/** Kinds of differences between two answers, in the order of the summary. */
export const kinds = ['refusal', 'ids', 'order', 'total', 'facets', 'scores'] as const
export type Kind = (typeof kinds)[number]

type Fields = Readonly<Record<string, unknown>>

/** The answer of a side to a search. */
export type Answer =
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'answered'; readonly body: Fields }

export interface Difference {
  readonly kind: Kind
  /** Position of the query in a multi-search; null for a single search. */
  readonly query: number | null
  readonly left: unknown
  readonly right: unknown
}

/** Returns the primary key of an index; null if not known. */
export type PrimaryKeyOf = (indexUid: string) => string | null

/**
 * Returns all differences between two answers to a search.
 * @param indexUid of a single search; null for a multi-search, where each result names its index
 */
export function differencesOf(
  left: Answer,
  right: Answer,
  indexUid: string | null,
  primaryKeyOf: PrimaryKeyOf,
): readonly Difference[] {
  if (left.kind === 'refused' || right.kind === 'refused') {
    const [a, b] = [left, right].map((one) => (one.kind === 'refused' ? one.code : 'answered'))
    return a === b ? [] : [{ kind: 'refusal', query: null, left: a, right: b }]
  }
  const [lefts, rights] = [left.body.results, right.body.results]
  if (!Array.isArray(lefts) || !Array.isArray(rights))
    return resultDifferences(left.body, right.body, { indexUid, query: null }, primaryKeyOf)
  return lefts.flatMap((result: unknown, query) => {
    const [one, other] = [fieldsOf(result), fieldsOf(rights[query])]
    return resultDifferences(one, other, { indexUid: String(one.indexUid), query }, primaryKeyOf)
  })
}

const totals = ['estimatedTotalHits', 'totalHits', 'totalPages']
const facets = ['facetDistribution', 'facetStats', 'facetsByIndex']

function resultDifferences(
  left: Fields,
  right: Fields,
  { indexUid, query }: { readonly indexUid: string | null; readonly query: number | null },
  primaryKeyOf: PrimaryKeyOf,
): readonly Difference[] {
  const [hits, others] = [hitsOf(left), hitsOf(right)]
  const ids = hits.map((hit) => idOf(hit, indexUid, primaryKeyOf))
  const otherIds = others.map((hit) => idOf(hit, indexUid, primaryKeyOf))
  const found: Difference[] = []
  const add = (kind: Kind, a: unknown, b: unknown): void =>
    void found.push({ kind, query, left: a, right: b })
  const isSamePage = isDeepStrictEqual(ids, otherIds)
  if (!isSamePage)
    add(isDeepStrictEqual([...ids].sort(), [...otherIds].sort()) ? 'order' : 'ids', ids, otherIds)
  const [counts, otherCounts] = [picked(left, totals), picked(right, totals)]
  if (!isDeepStrictEqual(counts, otherCounts)) add('total', counts, otherCounts)
  const [counted, otherCounted] = [picked(left, facets), picked(right, facets)]
  if (!isDeepStrictEqual(counted, otherCounted)) add('facets', counted, otherCounted)
  // Scores of different documents are not comparable.
  const [scores, otherScores] = [hits.map(scoreOf), others.map(scoreOf)]
  if (isSamePage && scores.some((score, at) => !isNear(score, otherScores[at] ?? null)))
    add('scores', scores, otherScores)
  return found
}

/** Returns any value as an object, since an instance may answer anything. */
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}

const hitsOf = ({ hits }: Fields): readonly Fields[] => (Array.isArray(hits) ? hits.map(fieldsOf) : [])

const picked = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(names.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]))

/** Returns the id of a hit as JSON. If the hit does not have its id, returns its displayed fields. */
function idOf(hit: Fields, indexUid: string | null, primaryKeyOf: PrimaryKeyOf): string {
  const _federation = hit._federation == null ? undefined : fieldsOf(hit._federation)
  const uid = _federation === undefined ? indexUid : String(_federation.indexUid)
  const primaryKey = uid === null ? null : primaryKeyOf(uid)
  const id = primaryKey === null ? undefined : hit[primaryKey]
  const prefix = _federation === undefined ? '' : `${_federation.indexUid}/`
  if (id !== undefined) return `${prefix}${JSON.stringify(id)}`
  const shown = Object.entries(hit).filter(([name]) => !name.startsWith('_'))
  return `${prefix}${JSON.stringify(Object.fromEntries(shown.sort(([a], [b]) => (a < b ? -1 : 1))))}`
}

const scoreOf = ({ _rankingScore }: Fields): number | null =>
  typeof _rankingScore === 'number' ? _rankingScore : null

const isNear = (a: number | null, b: number | null): boolean =>
  a === null || b === null ? a === b : Math.abs(a - b) <= SCORE_TOLERANCE
