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

/** How much of a filter is looked at. What lies beyond is read as if it demanded nothing. */
export interface EqualityBounds {
  /** Ways to pass it. */
  readonly branchesMax: number
  /** Equalities of each way. */
  readonly equalitiesMax: number
  /** Levels of AND and OR. */
  readonly levelsMax: number
}

/** The ways to pass `filter`; none if there is no filter, or one that does not parse. */
export function equalityBranches(
  filter: FilterValue | null,
  bounds: EqualityBounds,
): readonly EqualityBranch[] {
  try {
    const parsed = parseFilter(filter, { containsFilter: true, multimodal: true, foreignKeys: true })
    return parsed === null ? [] : branchesOf(parsed, bounds, bounds.levelsMax)
  } catch (error) {
    // The search itself tells what is wrong with it.
    if (error instanceof FilterError) return []
    throw error
  }
}

function branchesOf(filter: Filter, bounds: EqualityBounds, levels: number): readonly EqualityBranch[] {
  const { branchesMax } = bounds
  const inner = (item: Filter): readonly EqualityBranch[] => branchesOf(item, bounds, levels - 1)
  if (levels <= 0 && (filter.kind === 'or' || filter.kind === 'and')) return [[]]
  switch (filter.kind) {
    case 'or': {
      const found: EqualityBranch[] = []
      for (const item of filter.items) {
        for (const branch of inner(item)) {
          if (found.length >= branchesMax) return found
          found.push(branch)
        }
      }
      return found
    }
    case 'and': {
      let found: readonly EqualityBranch[] = branchesMax > 0 ? [[]] : []
      for (const item of filter.items) found = joined(found, inner(item), bounds)
      return found
    }
    case 'condition': {
      const { field, condition } = filter
      if (condition.kind === 'compare' && condition.op === '=') return [[{ field, value: condition.value }]]
      if (condition.kind !== 'in') return [[]]
      return condition.values.slice(0, branchesMax).map((value) => [{ field, value }])
    }
    default:
      return [[]]
  }
}

/** The ways to pass two filters at once. Branches that gain nothing are taken over, not copied. */
function joined(
  left: readonly EqualityBranch[],
  right: readonly EqualityBranch[],
  { branchesMax, equalitiesMax }: EqualityBounds,
): readonly EqualityBranch[] {
  const found: EqualityBranch[] = []
  for (const first of left)
    for (const second of right) {
      if (found.length >= branchesMax) return found
      const room = equalitiesMax - first.length
      found.push(second.length === 0 || room <= 0 ? first : [...first, ...second.slice(0, room)])
    }
  return found
}
