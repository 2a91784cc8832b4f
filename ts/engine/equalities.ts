/**
 * Finds the values that a filter requires.
 *
 * Reads the filter as an OR of ANDs and returns the equalities of each AND. Omits the parts beyond a bound.
 */
import { type Filter, FilterError, parseFilter } from './fallback/filter/index.js'
import type { FilterValue } from './requests.js'

/** A way to match a filter: field values that a document must have. */
export type EqualityBranch = readonly Equality[]

export interface Equality {
  readonly field: string
  readonly value: string
}

/** Bounds on how much of a filter is read. Parts beyond a bound are treated as always true. */
interface EqualityBounds {
  /** Maximum number of branches. */
  readonly branchesMax: number
  /** Maximum number of equalities per branch. */
  readonly equalitiesMax: number
  /** Maximum nesting depth of AND and OR. */
  readonly levelsMax: number
}

/** Returns the ways to match `filter`; empty if there is no filter or it does not parse. */
export function equalityBranches(
  filter: FilterValue | null,
  bounds: EqualityBounds,
): readonly EqualityBranch[] {
  try {
    const parsed = parseFilter(filter, { containsFilter: true, multimodal: true, foreignKeys: true })
    return parsed === null ? [] : branchesOf(parsed, bounds, bounds.levelsMax)
  } catch (error) {
    // The search itself reports the parse error.
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

/** Returns the ways to match both filters. Branches without a new equality are shared, not copied. */
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
