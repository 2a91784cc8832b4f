import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access } from '../../auth/index.js'
import { type Fields, readQuery, type Values } from '../../operations/index.js'
import { jsonBody } from '../body/index.js'
import { bodyLimits } from '../limits.js'
import { accessToRead, isWrite, passOn } from '../replicas/index.js'
import type { Services } from '../services.js'
import type { NoFields, Operation } from './operation.js'
import { param, rawQuery } from './url.js'

/** A request whose key holds every action of its operation. */
export interface Authorized {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly access: Access
  /** The index uid of the path as sent, not validated; empty for paths without an index. */
  readonly indexUid: string
}

/** An authorized request whose query string and JSON body match its operation. */
export interface Call<Q extends Fields, B> extends Authorized {
  readonly query: Values<Q>
  readonly body: B
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation that the route serves. */
    operation?: Operation<Fields, unknown>
  }
}

/** Reads a body into another form than the declared type. */
export type ReadBody<B> = (request: FastifyRequest, bytesMax: number) => Promise<B>

/** Options of a route. */
interface Serving<B> {
  /** Reads the body. Default: as the declared type. */
  readonly read?: ReadBody<B> | undefined
  /** Called when a request is authorized, before its query string and body are read. */
  readonly authorized?: (request: FastifyRequest) => void
}

/**
 * Adds a route. Each request passes three checks, in the order in which the API reports their errors: the key must hold
 * every action of the operation, then the query string and the JSON body must match it. `handle` does the rest.
 */
export function serve<Q extends Fields = NoFields, S = undefined, B = S>(
  app: FastifyInstance,
  { auth, options, replicated = null }: Pick<Services, 'auth' | 'options' | 'replicated'>,
  operation: Operation<Q, S>,
  handle: (call: Call<Q, B>) => FastifyReply | Promise<FastifyReply>,
  { read, authorized }: Serving<B> = {},
): void {
  const { method, url, actions, query, body, ignoresOthers = false } = operation
  const hasIndex = url.includes('/:indexUid')
  const isShared = isWrite(operation)
  const reading = { ignoreUnknown: ignoresOthers, notesSent: true }
  const { payloadBytesMax, payloadIsChosen } = options
  const bytesMax = payloadIsChosen ? payloadBytesMax : Math.min(payloadBytesMax, bodyLimits(url).bytesMax)
  app.route({
    method,
    url,
    config: { operation: operation as unknown as Operation<Fields, unknown> },
    async handler(request, reply) {
      const indexUid = hasIndex ? param(request, 'indexUid') : ''
      if (isShared && replicated !== null) {
        const passed = await passOn(request, reply, replicated)
        if (passed !== null) return passed
      }
      const { authorization } = request.headers
      const requireAccess = () => auth.require(authorization, actions, hasIndex ? indexUid : undefined)
      const awaits = replicated !== null && actions.length > 0 && !isShared
      const access = await (awaits ? accessToRead(request, replicated, requireAccess) : requireAccess())
      authorized?.(request)
      const asked = query === undefined ? ({} as Values<Q>) : readQuery(rawQuery(request), query, reading)
      const sent = body === undefined ? undefined : await (read ?? jsonBody)(request, bytesMax, body)
      return handle({ request, reply, access, query: asked, body: sent as B, indexUid })
    },
  })
}
