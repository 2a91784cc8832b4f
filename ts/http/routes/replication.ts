import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../errors/index.js'
import { httpUrl, integer, optional, orNull, shape } from '../../operations/index.js'
import { count, record, sendJson, text } from '../answers/index.js'
import { serve } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'

const noBucket = (): ApiError =>
  new ApiError('feature_not_enabled', 'this server has no bucket: start it with --bucket')

const handOver = {
  method: 'POST',
  url: '/replication/handover',
  summary: 'Let another server of the bucket become the leader',
  actions: ['*'],
  body: shape({ to: optional(httpUrl, 'bad_request') }),
  answers: { 200: record({ to: text }) },
} as const

const wait = {
  method: 'GET',
  url: '/replication/wait',
  summary: 'Wait for a log record after a known one',
  actions: [],
  query: { after: optional(integer(Number.MAX_SAFE_INTEGER), 'bad_request') },
  answers: { 200: record({ position: orNull(count) }) },
} as const

/** Requests to servers that share a bucket. */
export const replicationRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  // Servers send them to each other without a key. The answer has what `GET /health` shows.
  serve(app, services, wait, async ({ reply, query: { after } }) => {
    const { replicated = null } = services
    const watch = replicated?.watch
    const position = after === null ? watch?.position : await watch?.beyond(after)
    // The followers must poll the bucket, which may have a new leader.
    if (replicated?.isCutOff() === true)
      throw new ApiError('bucket_unavailable', 'this leader does not reach the bucket: poll the log there')
    if (position === null)
      throw new ApiError('too_many_requests', 'too many servers wait for log records; poll the bucket')
    return sendJson(reply, { position: position === undefined || position < 0 ? null : position })
  })
  app.addHook('preClose', async () => services.replicated?.watch.close())

  serve(app, services, handOver, async ({ reply, access, body: { to } }) => {
    if (access.visibleIndexes !== null)
      throw new ApiError('invalid_api_key', 'only a key for all indexes may choose the leader')
    const { replicated = null } = services
    if (replicated === null) throw noBucket()
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
