import { ApiError } from '../../errors/index.js'
import type { TaskContent } from '../../tasks/index.js'
import { boolean, defaulted, indexUid, list, required, shape } from '../requests/index.js'
import { SWAPS_MAX } from './limits.js'

/** Body of a request to swap the contents of pairs of indexes. */
export const swapsBody = list(
  shape({
    indexes: required(list(indexUid), 'invalid_swap_indexes', 'missing_swap_indexes'),
    rename: defaulted(boolean, false, 'invalid_swap_rename'),
  }),
  { max: SWAPS_MAX, what: 'pairs of indexes', code: 'invalid_swap_indexes' },
)

interface Swap {
  readonly indexes: readonly string[]
  readonly rename: boolean
}

/**
 * @param requireAccess throws if the caller may not access an index
 * @throws ApiError if an entry is not a pair, or an index occurs twice
 */
export function swapContent(wanted: readonly Swap[], requireAccess: (uid: string) => void): TaskContent {
  const swaps = wanted.map(({ indexes, rename }, i) => {
    const [first, second] = indexes
    if (indexes.length !== 2 || first === undefined || second === undefined) {
      const message = `bad value at \`[${i}].indexes\`: two index uids are swapped, ${indexes.length} were given`
      throw new ApiError('invalid_swap_indexes', message)
    }
    for (const uid of indexes) requireAccess(uid)
    return { indexes: [first, second] as const, rename }
  })
  const repeated = repeatedIn(swaps.flatMap(({ indexes }) => indexes))
  if (repeated.size > 0) {
    const names = [...repeated].map((uid) => `\`${uid}\``).join(', ')
    throw new ApiError('invalid_swap_duplicate_index_found', `an index can be swapped only once: ${names}`)
  }
  return { kind: 'indexSwap', swaps }
}

/** Returns the names that occur more than once, in order of their second occurrence. */
function repeatedIn(names: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) repeated.add(name)
    seen.add(name)
  }
  return repeated
}
