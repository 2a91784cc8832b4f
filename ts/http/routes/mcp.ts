import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Action } from '../../auth/index.js'
import { ApiError } from '../../errors/index.js'
import { type Api, type McpEndpoint, openMcpEndpoint } from '../../mcp/index.js'
import { anything, type Fields } from '../../operations/index.js'
import { anyJson } from '../answers/index.js'
import { jsonBody } from '../body/index.js'
import { bodyLimits } from '../limits.js'
import type { Operation } from '../operations/index.js'
import type { RouteServices } from '../route-services.js'
import { disconnectOf } from '../searches/index.js'

const operation: Operation<Fields, unknown> = {
  method: 'POST',
  url: '/mcp',
  summary: 'Give an agent tools to search, by the Model Context Protocol',
  actions: ['search'],
  body: anything,
  answers: { 200: anyJson, 202: null },
}

/**
 * Tools for agents. Each tool calls a route of this server with the key of its request, so that rights, limits and
 * filters of tenant tokens are those of HTTP. Not served by `serve`: a key without `search` is valid here, and only
 * hides the tools that it may not use.
 */
export const mcpRoutes: FastifyPluginAsync<RouteServices> = async (app, services) => {
  const { auth, features, options, version } = services
  const bytesMax = Math.min(options.payloadBytesMax, bodyLimits(operation.url).bytesMax)
  /** Loaded at the first request. */
  let endpoint: Promise<McpEndpoint> | null = null
  const endpointOnce = (): Promise<McpEndpoint> => {
    const setup = { version: version.pkgVersion, writes: options.mcpWrites }
    endpoint ??= openMcpEndpoint(setup).catch((error: unknown) => {
      // The next request tries again, such as when descriptors are free again.
      endpoint = null
      throw error
    })
    return endpoint
  }
  app.addHook('onClose', async () => (await endpoint?.catch(() => null))?.close())

  app.route({
    method: operation.method,
    url: operation.url,
    config: { operation },
    async handler(request, reply) {
      try {
        await auth.requireValid(request.headers.authorization)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        void reply.header('www-authenticate', 'Bearer')
        throw new ApiError(error.code, error.message, 401)
      }
      features.require('mcpRoute', 'calling `POST /mcp`')
      const body = await jsonBody(request, bytesMax, anything)
      const { answer: answered } = await endpointOnce()
      const stop = new AbortController()
      const stopListening = disconnectOf(reply)(() => stop.abort())
      try {
        const { headers } = request
        const api = apiOf(services, { headers, disconnect: stop.signal })
        const answer = await answered({ headers, body, api, signal: stop.signal })
        void reply.code(answer.status)
        for (const [name, value] of Object.entries(answer.headers)) void reply.header(name, value)
        return reply.send(answer.body)
      } finally {
        stopListening()
      }
    },
  })
}

interface Caller {
  readonly headers: FastifyRequest['headers']
  /** Aborted when the client disconnects. */
  readonly disconnect: AbortSignal
}

/** Calls routes of this server with the key of the caller. */
function apiOf(
  { innerCalls, auth }: Pick<RouteServices, 'innerCalls' | 'auth'>,
  { headers, disconnect }: Caller,
): Api {
  const { authorization, 'user-agent': userAgent } = headers
  return {
    async call({ method, path, body, signal }) {
      const inner = {
        method,
        url: path,
        headers: {
          ...(authorization !== undefined && { authorization }),
          ...(userAgent !== undefined && { 'user-agent': userAgent }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { payload: JSON.stringify(body) }),
      }
      return innerCalls.call(inner, signal === undefined ? disconnect : AbortSignal.any([disconnect, signal]))
    },
    async allows(action) {
      try {
        await auth.require(authorization, [action as Action])
        return true
      } catch (error) {
        if (error instanceof ApiError) return false
        throw error
      }
    },
  }
}
