/** A lane is one of several compared searches: its index and settings, and the requests for them. */
import type { Hit, Json } from '../api/types.ts'
import { MARK_END, MARK_START } from '../parts/marked.tsx'
import { own } from '../parts/own.ts'

export interface Lane {
  readonly index: string
  readonly filter: string
  /** `year:desc`, or empty for none. */
  readonly sort: string
  /** Matching strategy; empty for that of the settings. */
  readonly strategy: '' | 'last' | 'all' | 'frequency' | 'any'
  /** Comma-separated attributes; empty for all. */
  readonly searchOn: string
  readonly limit: number
  readonly embedder: string
  /** Semantic ratio, from 0 to 1. */
  readonly ratio: number
  readonly threshold: number
  readonly distinct: string
  /** Separate query of this lane; null to use the common query. */
  readonly ownQuery: string | null
  /** Chosen values by facet. */
  readonly chosen: Readonly<Record<string, readonly string[]>>
  /** Lower and upper bounds by facet, as typed. */
  readonly ranges: Readonly<Record<string, readonly [string, string]>>
}

export interface SearchState {
  readonly q: string
  readonly lanes: readonly Lane[]
}

/** Maximum number of lanes. Letters name them. */
export const LANES_MAX = 4
export const letterOf = (lane: number): string => 'ABCD'.charAt(lane)

export const newLane = (index: string): Lane => ({
  index,
  filter: '',
  sort: '',
  strategy: '',
  searchOn: '',
  limit: 20,
  embedder: '',
  ratio: 0.5,
  threshold: 0,
  distinct: '',
  ownQuery: null,
  chosen: {},
  ranges: {},
})

/** Parses the JSON of a state. URLs can be edited by hand, so it may have any content. */
export function readState(text: string | null, index: string): SearchState {
  const empty = { q: '', lanes: [newLane(index)] }
  if (text === null) return empty
  try {
    const { q, lanes } = JSON.parse(text) as Partial<SearchState>
    const read = (Array.isArray(lanes) ? lanes : []).slice(0, LANES_MAX).map((lane) => readLane(lane, index))
    return { q: typeof q === 'string' ? q : '', lanes: read.length > 0 ? read : empty.lanes }
  } catch {
    return empty
  }
}

/** Returns what differs from a new search of the index, for the URL; undefined for nothing. */
export function compactState({ q, lanes }: SearchState, index: string): unknown {
  const standard = newLane(index)
  const changed = lanes.map((lane) =>
    Object.fromEntries(
      Object.entries(withoutEmpty(lane)).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(standard[name as keyof Lane]),
      ),
    ),
  )
  const isStandard = changed.length === 1 && Object.keys(changed[0]!).length === 0
  const state = { ...(q !== '' && { q }), ...(!isStandard && { lanes: changed }) }
  return Object.keys(state).length === 0 ? undefined : state
}

/** Leaves out facets without a chosen value or bound. */
function withoutEmpty(lane: Lane): Lane {
  const filled = <T extends readonly string[]>(lists: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(lists).filter(([, list]) => list.some((text) => text !== '')))
  return { ...lane, chosen: filled(lane.chosen), ranges: filled(lane.ranges) }
}

/** Returns the id of the document to explain, from the JSON of a state; null for none. */
export function readWhy(text: string | null): string | null {
  try {
    const { why } = (JSON.parse(text ?? 'null') ?? {}) as { readonly why?: unknown }
    return typeof why === 'string' ? why : null
  } catch {
    return null
  }
}

function readLane(given: unknown, index: string): Lane {
  const base = newLane(index)
  const read = Object.entries(base).map(([name, standard]) => {
    const value = (given as Record<string, unknown> | null)?.[name]
    if (name === 'ownQuery') return [name, typeof value === 'string' ? value : null]
    if (name === 'chosen' || name === 'ranges') return [name, textLists(value)]
    return [name, typeof value === typeof standard ? value : standard]
  })
  return Object.fromEntries(read) as Lane
}

const textLists = (value: unknown): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(typeof value === 'object' && value !== null ? value : {})
      .filter(([, list]) => Array.isArray(list))
      .map(([name, list]) => [name, (list as unknown[]).map(String)]),
  )

/** Returns the document id of a hit; an empty text if the displayed attributes do not include it. */
export const idIn = (hit: Hit, primaryKey: string | null): string =>
  primaryKey !== null && Object.hasOwn(hit, primaryKey) ? String(hit[primaryKey]) : ''

/** Quotes a value or an attribute for a filter. */
export const quoted = (text: string): string => `"${text.replace(/["\\]/g, (character) => `\\${character}`)}"`

/** Quotes an attribute that has special characters or the name of an operator, such as `NOT` and `_geoRadius`. */
export const attribute = (name: string): string =>
  /^[\w.-]+$/.test(name) && !/^([A-Z]+$|_geo[A-Z])/.test(name) ? name : quoted(name)

/** Returns the conditions of a facet; null for none. */
function conditionOf(lane: Lane, facet: string): Json | null {
  const values = (own(lane.chosen, facet) ?? []).map((value) => `${attribute(facet)} = ${quoted(value)}`)
  return values.length > 0 ? values : null
}

function rangesOf(lane: Lane, facet: string): readonly string[] {
  const [from = '', to = ''] = own(lane.ranges, facet) ?? []
  const bound = (operator: string, text: string): string[] =>
    text.trim() !== '' && Number.isFinite(Number(text))
      ? [`${attribute(facet)} ${operator} ${text.trim()}`]
      : []
  return [...bound('>=', from), ...bound('<=', to)]
}

/** @param except a facet to leave out, to count its other values */
export function filterOf(lane: Lane, except?: string): readonly Json[] {
  const facets = new Set([...Object.keys(lane.chosen), ...Object.keys(lane.ranges)])
  const conditions = [...facets]
    .filter((facet) => facet !== except)
    .flatMap((facet): Json[] => {
      const condition = conditionOf(lane, facet)
      return [...(condition === null ? [] : [condition]), ...rangesOf(lane, facet)]
    })
  const own = lane.filter.trim()
  return own === '' ? conditions : [...conditions, own]
}

export interface SearchBody {
  readonly [key: string]: Json
}

/** Returns the search without the parts that only the page needs. */
export function plainBody(lane: Lane, q: string): SearchBody {
  const filter = filterOf(lane)
  const attributes = lane.searchOn.split(',').flatMap((name) => name.trim() || [])
  return {
    q: lane.ownQuery ?? q,
    ...(filter.length > 0 && {
      filter: filter.length === 1 && typeof filter[0] === 'string' ? filter[0] : filter,
    }),
    ...(lane.sort !== '' && { sort: [lane.sort] }),
    ...(lane.strategy !== '' && { matchingStrategy: lane.strategy }),
    ...(attributes.length > 0 && { attributesToSearchOn: attributes }),
    ...(lane.embedder !== '' && { hybrid: { embedder: lane.embedder, semanticRatio: lane.ratio } }),
    ...(lane.threshold > 0 && { rankingScoreThreshold: lane.threshold }),
    ...(lane.distinct !== '' && { distinct: lane.distinct }),
    limit: lane.limit,
  }
}

/** Returns the complete search of the page: with highlights, cropped text, scores, facets, and stage times. */
export function pageBody(lane: Lane, q: string, facets: readonly string[]): SearchBody {
  return {
    ...plainBody(lane, q),
    facets,
    attributesToHighlight: ['*'],
    attributesToCrop: ['*'],
    cropLength: 36,
    highlightPreTag: MARK_START,
    highlightPostTag: MARK_END,
    showRankingScore: true,
    showRankingScoreDetails: true,
    showPerformanceDetails: true,
  }
}

/** Returns a search that counts a facet without its chosen values. */
export function countingBody(lane: Lane, q: string, facet: string): SearchBody {
  return { ...plainBody(lane, q), filter: filterOf(lane, facet), facets: [facet], limit: 0 }
}
