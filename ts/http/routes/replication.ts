import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { badValue, isHttpUrl, optional, refined, shape, string } from '../../operations/index.js'
import { record, sendJson, text } from '../answers/index.js'
import { serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'

const address = refined(string, (given, at) => {
  if (!isHttpUrl(given)) throw badValue(`\`${given}\` is not an http or https URL`, at)
  return given
})

const handOver = {
  method: 'POST',
  url: '/replication/handover',
  summary: 'Let another server of the bucket become the leader',
  actions: ['*'],
  body: shape({ to: optional(address, 'bad_request') }),
  answers: { 200: record({ to: text }) },
} as const

/** Requests to servers that share a bucket. */
export const replicationRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  serve(app, services, handOver, async ({ reply, access, body: { to } }) => {
    if (access.visibleIndexes !== null)
      throw new ApiError('invalid_api_key', 'only a key for all indexes may choose the leader')
    const { replicated = null } = services
    if (replicated === null)
      throw new ApiError('feature_not_enabled', 'this server has no bucket: start it with --bucket')
    const outcome = await replicated.handOver(to)
    if (outcome?.kind === 'done') return sendJson(reply, { to: outcome.to.address })
    throw new ApiError(
      'no_successor',
      outcome === null
        ? `no server can take over${to === null ? '' : ` at ${to}`}: it must run with --candidate yes, --follow and an --advertised-url, and have announced itself, which takes some seconds; the leader leads on`
        : `${outcome.to.address} did not take over in time: the leader restarts and leads on`,
    )
  })
}
