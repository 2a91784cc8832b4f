import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../auth/index.js'
import { type Fields, readQuery, type Values } from '../requests/index.js'
import { jsonBody } from './body.js'
import { param, rawQuery } from './exchange.js'
import type { NoFields, Operation } from './operation.js'
import type { RouteServices } from './route-services.js'

/** A request that was let in and read. */
export interface Call<Q extends Fields, B> {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly access: Access
  readonly query: Values<Q>
  readonly body: B
  /** The index uid of the path as sent, its syntax unchecked; empty for paths without one. */
  readonly indexUid: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route promises. */
    operation?: Operation<Fields, unknown>
  }
}

/**
 * Adds a route: who asks is settled first, then the query string, then the body, as the API orders its errors.
 * All else is for `handle`.
 */
export function serve<Q extends Fields = NoFields, B = undefined>(
  app: FastifyInstance,
  { auth, options }: RouteServices,
  operation: Operation<Q, B>,
  handle: (call: Call<Q, B>) => FastifyReply | Promise<FastifyReply>,
): void {
  const { method, url, actions, query, body } = operation
  const [action] = actions
  if (action === undefined) throw new TypeError(`${method} ${url} is open to everyone: it needs no \`serve\``)
  const hasIndex = url.includes('/:indexUid')
  app.route({
    method,
    url,
    ...described(operation),
    async handler(request, reply) {
      const indexUid = hasIndex ? param(request, 'indexUid') : ''
      const access = await auth.require(
        request.headers.authorization,
        action,
        hasIndex ? indexUid : undefined,
      )
      const read = query === undefined ? ({} as Values<Q>) : readQuery(rawQuery(request), query)
      const sent =
        body === undefined ? (undefined as B) : await jsonBody(request, options.payloadBytesMax, body)
      return handle({ request, reply, access, query: read, body: sent, indexUid })
    },
  })
}

/** Route options that describe a route which reads its requests by itself. */
export function described<Q extends Fields, B>(
  operation: Operation<Q, B>,
): { readonly config: { readonly operation: Operation<Fields, unknown> } } {
  return { config: { operation: operation as unknown as Operation<Fields, unknown> } }
}
