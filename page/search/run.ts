/** Runs the searches of a lane, and records their duration. */
import { ask, indexPath } from '../api/client.ts'
import type { SearchAnswer } from '../api/types.ts'
import { own } from '../parts/own.ts'
import { countingBody, type Lane, pageBody } from './lane.ts'

export interface SessionSearch {
  readonly index: string
  readonly q: string
  readonly ms: number
}

/** The slowest searches of this tab, slowest first. */
export const slowest: SessionSearch[] = []
const SLOWEST_MAX = 20

/** Facets with chosen values are counted without these, so that other values can be chosen. */
export async function runLane(
  lane: Lane,
  q: string,
  facets: readonly string[],
  signal: AbortSignal,
): Promise<SearchAnswer> {
  const path = indexPath(lane.index, '/search')
  const search = (body: unknown): Promise<SearchAnswer> => ask<SearchAnswer>('POST', path, { body, signal })
  const chosen = facets.filter((facet) => (own(lane.chosen, facet)?.length ?? 0) > 0)
  const [answer, ...counts] = await Promise.all([
    search(pageBody(lane, q, facets)),
    ...chosen.map((facet) => search(countingBody(lane, q, facet))),
  ])
  remember({ index: lane.index, q: lane.ownQuery ?? q, ms: answer.processingTimeMs })
  // Builds from entries, since assigning a facet with the name `__proto__` would not add it.
  const counted = [answer, ...counts].flatMap(({ facetDistribution }) =>
    Object.entries(facetDistribution ?? {}),
  )
  return { ...answer, facetDistribution: Object.fromEntries(counted) }
}

function remember(search: SessionSearch): void {
  const same = slowest.findIndex(({ index, q }) => index === search.index && q === search.q)
  if (same !== -1 && slowest[same]!.ms >= search.ms) return
  if (same !== -1) slowest.splice(same, 1)
  slowest.push(search)
  slowest.sort((a, b) => b.ms - a.ms)
  slowest.length = Math.min(slowest.length, SLOWEST_MAX)
}
