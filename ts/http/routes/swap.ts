import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { taskSummary } from '../answers.js'
import { jsonBody } from '../body.js'
import { described } from '../endpoint.js'
import { sendSummary } from '../exchange.js'
import { boolean, defaulted, indexUid, list, required, shape } from '../parse/index.js'
import type { RouteServices } from '../services.js'
import { raise } from '../usage.js'

const swapsBody = list(
  shape({
    indexes: required(list(indexUid), 'invalid_swap_indexes', 'missing_swap_indexes'),
    rename: defaulted(boolean, false, 'invalid_swap_rename'),
  }),
)

/** Swapping the content of indexes, or moving it to a free name. */
export const swapRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, tasks, options } = services

  app.post(
    '/swap-indexes',
    described({
      method: 'POST',
      url: '/swap-indexes',
      summary: 'Swap the content of indexes, or move it to a free name',
      actions: ['indexes.swap'],
      body: swapsBody,
      answers: { 202: taskSummary },
    }),
    async (request, reply) => {
      const access = await auth.require(request.headers.authorization, 'indexes.swap')
      const body = await jsonBody(request, options.payloadBytesMax, swapsBody)
      raise(services, request, 'indexesSwapped', { swap_operation_number: body.length })
      const swaps = body.map(({ indexes, rename }, i) => {
        const [first, second] = indexes
        if (indexes.length !== 2 || first === undefined || second === undefined) {
          const message = `bad value at \`[${i}].indexes\`: two index uids are swapped, ${indexes.length} were given`
          throw new ApiError('invalid_swap_indexes', message)
        }
        for (const uid of indexes) if (!access.allows(uid)) throw access.refusal(uid)
        return { indexes: [first, second] as const, rename }
      })
      const all = swaps.flatMap(({ indexes }) => indexes)
      const repeated = [...new Set(all.filter((uid, i) => all.indexOf(uid) !== i))]
      if (repeated.length > 0) {
        const names = repeated.map((uid) => `\`${uid}\``).join(', ')
        throw new ApiError(
          'invalid_swap_duplicate_index_found',
          `an index can be swapped only once: ${names}`,
        )
      }
      const content = { kind: 'indexSwap', swaps } as const
      return sendSummary(reply, await tasks.enqueue({ indexUid: null, type: 'indexSwap', content }))
    },
  )
}
