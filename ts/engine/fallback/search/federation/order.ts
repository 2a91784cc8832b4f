/** Here are queries: do their criteria put documents in orders that compare? Source: operations §17. */
import { EngineError } from '../../../engine-error.js'
import { customRule } from '../../fields/rules.js'
import type { RankedQuery } from './query.js'

type Kind =
  | 'relevance'
  | 'a field, ascending'
  | 'a field, descending'
  | 'distance, ascending'
  | 'distance, descending'

/** Refuses queries whose rules put documents in orders that cannot be compared. */
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
    // The longest list says most about what the next one has to be like.
    if (reference === null || reference.kinds.length <= kinds.length) reference = { position, kinds }
  }
}

/**
 * The kinds of a query's criteria, in order. Consecutive rules of relevance count as one; without words there is none,
 * and by meaning alone there is one. A field decides where it stands first.
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
    } else if (found.onlyMeaning ? !kinds.includes('relevance') : hasWords && kinds.at(-1) !== 'relevance')
      kinds.push('relevance')
  }
  return kinds
}
