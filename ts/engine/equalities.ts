/**
 * Here is a filter: which values does it ask for?
 *
 * The filter is read as an OR of ANDs; of each AND only the equalities are told. Work is bounded: what lies
 * beyond a bound is not told.
 */
import { type Filter, FilterError, parseFilter } from './fallback/filter/index.js'
import type { FilterValue } from './requests.js'

/** One way to pass a filter: values that the document must have. */
export type EqualityBranch = readonly Equality[]

export interface Equality {
  readonly field: string
  readonly value: string
}

/** Ways to pass, and equalities of one. Source: the API's budgets of dynamic search rules. */
const BRANCHES_MAX = 100
const EQUALITIES_MAX = 100

/** The ways to pass `filter`; none if there is no filter, or one that does not parse. */
export function equalityBranches(filter: FilterValue | null): readonly EqualityBranch[] {
  try {
    const parsed = parseFilter(filter, { containsFilter: true, multimodal: true, foreignKeys: true })
    return parsed === null ? [] : branchesOf(parsed)
  } catch (error) {
    // The search itself tells what is wrong with it.
    if (error instanceof FilterError) return []
    throw error
  }
}

function branchesOf(filter: Filter): readonly EqualityBranch[] {
  switch (filter.kind) {
    case 'or':
      return filter.items.flatMap(branchesOf).slice(0, BRANCHES_MAX)
    case 'and':
      return filter.items
        .map(branchesOf)
        .reduce(
          (all, next) =>
            all
              .flatMap((left) => next.map((right) => [...left, ...right].slice(0, EQUALITIES_MAX)))
              .slice(0, BRANCHES_MAX),
          [[]] as readonly EqualityBranch[],
        )
    case 'condition': {
      const { field, condition } = filter
      if (condition.kind === 'compare' && condition.op === '=') return [[{ field, value: condition.value }]]
      if (condition.kind === 'in') return condition.values.map((value) => [{ field, value }])
      return [[]]
    }
    default:
      return [[]]
  }
}
