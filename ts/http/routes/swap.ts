import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { boolean, defaulted, indexUid, list, required, shape } from '../../requests/index.js'
import { serveTask } from '../following/index.js'
import { recordUse } from '../metrics/index.js'
import type { RouteServices } from '../route-services.js'
import { SWAPS_MAX } from './limits.js'

const swapsBody = list(
  shape({
    indexes: required(list(indexUid), 'invalid_swap_indexes', 'missing_swap_indexes'),
    rename: defaulted(boolean, false, 'invalid_swap_rename'),
  }),
  { max: SWAPS_MAX, what: 'pairs of indexes', code: 'invalid_swap_indexes' },
)

/** Swapping the content of indexes, or moving it to a free name. */
export const swapRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { tasks } = services

  serveTask(
    app,
    services,
    {
      method: 'POST',
      url: '/swap-indexes',
      summary: 'Swap the content of indexes, or move it to a free name',
      actions: ['indexes.swap'],
      body: swapsBody,
    },
    async ({ request, access, body }) => {
      recordUse(services, request, 'indexesSwapped', {
        swap_operation_number: body.length,
        rename_used: body.some(({ rename }) => rename),
      })
      const swaps = body.map(({ indexes, rename }, i) => {
        const [first, second] = indexes
        if (indexes.length !== 2 || first === undefined || second === undefined) {
          const message = `bad value at \`[${i}].indexes\`: two index uids are swapped, ${indexes.length} were given`
          throw new ApiError('invalid_swap_indexes', message)
        }
        for (const uid of indexes) if (!access.allows(uid)) throw access.refusal(uid)
        return { indexes: [first, second] as const, rename }
      })
      const repeated = repeatedIn(swaps.flatMap(({ indexes }) => indexes))
      if (repeated.size > 0) {
        const names = [...repeated].map((uid) => `\`${uid}\``).join(', ')
        throw new ApiError(
          'invalid_swap_duplicate_index_found',
          `an index can be swapped only once: ${names}`,
        )
      }
      const content = { kind: 'indexSwap', swaps } as const
      return tasks.enqueue({ indexUid: null, type: 'indexSwap', content })
    },
  )
}

/** The names that occur more than once, in order of their second occurrence. */
function repeatedIn(names: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) repeated.add(name)
    seen.add(name)
  }
  return repeated
}
