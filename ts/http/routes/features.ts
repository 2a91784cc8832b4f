import type { FastifyPluginAsync } from 'fastify'
import { jsonBody } from '../body.js'
import { sendJson } from '../exchange.js'
import { featureNames } from '../features.js'
import { boolean, type Field, optional, shape } from '../parse/index.js'
import type { RouteServices } from '../services.js'

const flags: Readonly<Record<string, Field<boolean | null>>> = Object.fromEntries(
  featureNames.map((name) => [name, optional(boolean, 'bad_request')]),
)
const flagsBody = shape(flags)

/** Experimental features, switched while the service runs. */
export const featureRoutes: FastifyPluginAsync<RouteServices> = async (app, { auth, features, options }) => {
  app.get('/experimental-features', async (request, reply) => {
    await auth.require(request.headers.authorization, 'experimental.get')
    return sendJson(reply, features.flags)
  })

  app.patch('/experimental-features', async (request, reply) => {
    await auth.require(request.headers.authorization, 'experimental.update')
    const body = await jsonBody(request, options.payloadBytesMax, flagsBody)
    const given = Object.entries(body).filter((entry): entry is [string, boolean] => entry[1] !== null)
    return sendJson(reply, await features.patch(Object.fromEntries(given)))
  })
}
