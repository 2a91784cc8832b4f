/** Checks that the sort criteria of federated queries are comparable. Source: operations §17. */
import { EngineError } from '../../../engine-error.js'
import { customRule } from '../../fields/rules.js'
import type { RankedQuery } from './query.js'

type Kind =
  | 'relevance'
  | 'a field, ascending'
  | 'a field, descending'
  | 'distance, ascending'
  | 'distance, descending'

/** Refuses queries with ranking rules of incomparable order. */
export function requireComparable(queries: readonly RankedQuery[]): void {
  let reference: { readonly position: number; readonly kinds: readonly Kind[] } | null = null
  for (const query of queries) {
    const { position } = query
    const kinds = kindsOf(query)
    for (const [at, here] of kinds.entries()) {
      const there = reference?.kinds[at] ?? here
      if (reference !== null && there !== here)
        throw new EngineError(
          'invalid_multi_search_query_ranking_rules',
          `the results of queries #${reference.position} and #${position} cannot be merged: ` +
            `one orders by ${there}, the other by ${here}`,
        )
    }
    // The longest list restricts later queries most.
    if (reference === null || reference.kinds.length <= kinds.length) reference = { position, kinds }
  }
}

/**
 * Kinds of the criteria of a query, in order. Consecutive relevance rules count as one. Without query words there is
 * none; a purely semantic search has one. A repeated field counts at its first position.
 */
function kindsOf({ index, request, found }: RankedQuery): readonly Kind[] {
  const kinds: Kind[] = []
  const known = new Set<string>()
  const hasWords = request.q !== null && request.q !== ''
  for (const rule of index.data.settings.rankingRules) {
    const custom = customRule(rule)
    if (custom !== null || rule === 'sort') {
      const criteria =
        custom === null
          ? found.sort
          : [{ kind: 'field' as const, field: custom.field, ascending: custom.ascending }]
      for (const criterion of criteria) {
        const key = criterion.kind === 'geo' ? '_geo' : criterion.field
        if (known.has(key)) continue
        known.add(key)
        const by = criterion.kind === 'geo' ? 'distance' : 'a field'
        kinds.push(`${by}, ${criterion.ascending ? 'ascending' : 'descending'}`)
      }
    } else if (found.semanticOnly ? !kinds.includes('relevance') : hasWords && kinds.at(-1) !== 'relevance')
      kinds.push('relevance')
  }
  return kinds
}
