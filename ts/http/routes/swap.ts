import type { FastifyPluginAsync } from 'fastify'
import { swapContent, swapsBody } from '../../operations/index.js'
import { passNamed } from '../cells/index.js'
import { serveTask } from '../following/index.js'
import { recordUse } from '../metrics/index.js'
import type { RouteServices } from '../route-services.js'

/** Swaps the contents of indexes, or moves an index to a free name. */
export const swapRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { tasks, cells = null } = services

  serveTask(
    app,
    services,
    {
      method: 'POST',
      url: '/swap-indexes',
      summary: 'Swap the contents of indexes, or rename an index',
      actions: ['indexes.swap'],
      body: swapsBody,
    },
    async ({ request, reply, access, body }) => {
      const content = swapContent(body, (uid) => {
        if (!access.allows(uid)) throw access.refusal(uid)
      })
      const uids = body.flatMap(({ indexes }) => indexes)
      if (await passNamed(request, reply, cells, { uids, code: 'invalid_swap_indexes', body }))
        return { passed: reply }
      const summary = await tasks.enqueue({ indexUid: null, type: 'indexSwap', content })
      recordUse(services, request, 'indexesSwapped', {
        swap_operation_number: body.length,
        rename_used: body.some(({ rename }) => rename),
      })
      return summary
    },
  )
}
