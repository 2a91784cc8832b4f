import { METHODS } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { ApiError, type ErrorBody, type ErrorCode, toErrorBody } from '../../errors/index.js'
import { MCP_PATH, type OriginRules, requireMcpOrigin } from './mcp-origin.js'

/** Seconds for which a browser may cache a preflight answer. */
const PREFLIGHT_MAX_AGE_S = 86_400
/** Methods whose bodies fastify would parse. Node.js 20 lacks the last. */
const withBody = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'].filter((one) => METHODS.includes(one))

/** Seconds after which a client may retry a request answered with 503. */
const RETRY_AFTER_S = 10
/** The same for errors that pass by themselves in a moment, such as a change of the leader. */
const RETRY_SOON_S = 1
const briefly: ReadonlySet<unknown> = new Set<ErrorCode>(['bucket_unavailable', 'follower_behind'])

declare module 'fastify' {
  interface FastifyReply {
    /** The error code of the answer; null: no error, or no code. */
    errorCode: string | null
  }
}

/** The methods of each path pattern, for 404 and 405. */
type RouteTable = Map<string, Set<string>>

/** Answers a request that failed. */
export type OnError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/** Sets up error bodies, 404, 405 and CORS. Leaves request bodies unread for the routes. */
export function setUpTransport(app: FastifyInstance, options: OriginRules, onError: OnError): void {
  app.setErrorHandler(onError)
  answerOtherOrigins(app, options)
  answerUnknownRoutes(app)
  app.decorateReply('errorCode', null)
  // Node.js reads no further request from a connection after one with `Upgrade`, so the answer closes it.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers.upgrade !== undefined) reply.header('connection', 'close')
    done()
  })
  // fastify would refuse an unknown content type before the route has checked the key. The routes read the body.
  for (const method of withBody) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
}

/**
 * Answers with an error body. Handles every error of a route or of fastify.
 * @param more makes members that are added to the body
 */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  more: (body: ErrorBody) => object = () => ({}),
): void {
  const theirs = error instanceof ApiError ? error : fromFastify(error)
  const known = theirs ?? fromSystem(error)
  if (theirs === null || theirs.code === 'internal') request.log.error({ err: error }, 'a request failed')
  const status = known?.status ?? 500
  const body = toErrorBody(known ?? error)
  if (status === 503)
    void reply.header('retry-after', String(briefly.has(body.code) ? RETRY_SOON_S : RETRY_AFTER_S))
  reply.errorCode = body.code
  void reply
    .code(status)
    .type('application/json')
    .send(Buffer.from(JSON.stringify({ ...body, ...more(body) })))
}

/** Answers bytes that are not an HTTP request, if the connection is still writable. */
export function refuseMalformed(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, reason] = parserErrors[error.code ?? ''] ?? ['400 Bad Request', 'it is not valid HTTP']
  const body = JSON.stringify(
    toErrorBody(new ApiError('bad_request', `the request cannot be read: ${reason}`)),
  )
  const head = [
    `HTTP/1.1 ${status}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** Status line and reason by the code of an error of Node's HTTP parser. */
const parserErrors: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'its headers are too long'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'it took too long to arrive'],
}

/** Errors of the operating system that an operator can fix, by name. */
const systemErrors: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOSPC: ['no_space_left_on_device', 'there is no space left on the disk'],
  EDQUOT: ['no_space_left_on_device', 'the disk quota is used up'],
  EMFILE: ['too_many_open_files', 'the process has too many files open; its limit can be raised'],
  ENFILE: ['too_many_open_files', 'the machine has too many files open'],
  EIO: ['io_error', 'the disk failed to read or write; it may be damaged'],
}

function fromSystem(error: unknown): ApiError | null {
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code !== 'string' || !Object.hasOwn(systemErrors, code)) return null
  return new ApiError(...systemErrors[code]!)
}

/** Converts an error of fastify about a request to an API error; returns null for other errors. */
function fromFastify(error: unknown): ApiError | null {
  const status = (error as { statusCode?: unknown } | null)?.statusCode
  if (typeof status !== 'number' || status < 400 || status >= 500) return null
  const message = error instanceof Error ? error.message : 'the request is not valid'
  return new ApiError('bad_request', message)
}

function answerOtherOrigins(app: FastifyInstance, rules: OriginRules): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    if (origin === undefined) return done()
    if (isMcp(request)) {
      requireMcpOrigin(origin, rules)
      void reply.header('access-control-allow-origin', origin).header('vary', 'origin')
    } else void reply.header('access-control-allow-origin', '*')
    const wanted = request.headers['access-control-request-method']
    if (request.method !== 'OPTIONS' || wanted === undefined) return done()
    const names = request.headers['access-control-request-headers']
    if (names !== undefined) void reply.header('access-control-allow-headers', names)
    void reply
      .header('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
      .header('access-control-max-age', String(PREFLIGHT_MAX_AGE_S))
      .code(200)
      .send('')
  })
}

/** True for the route of agents in any spelling. A preflight has no route, so its path decides. */
const isMcp = ({ routeOptions, url }: FastifyRequest): boolean =>
  [routeOptions.url, url.split('?')[0]].some((path) => segments(path ?? '').join('/') === MCP_PATH)

function answerUnknownRoutes(app: FastifyInstance): void {
  const routes: RouteTable = new Map()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = routes.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    routes.set(url, methods)
  })
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsOf(routes, request.url)
    if (methods.length === 0 || methods.includes(request.method)) void reply.code(404).send()
    else void refuseMethod(reply, methods)
  })
  // A fixed name in a path wins over a parameter, whatever the method: `GET /documents/fetch` is a 405, not a request
  // for a document with the id `fetch`.
  const moreSpecific = new Map<string, readonly string[]>()
  app.addHook('onReady', async () => {
    const all = [...routes.keys()].map((pattern) => ({ pattern, parts: segments(pattern) }))
    for (const { pattern, parts } of all) moreSpecific.set(pattern, moreSpecificThan(parts, all))
  })
  app.addHook('onRoute', (route) => {
    const { url, onRequest = [] } = route
    const refuseLessSpecific: onRequestHookHandler = (request, reply, done) => {
      const rivals = moreSpecific.get(url) ?? []
      const path = rivals.length === 0 ? [] : segments(request.url.split('?')[0] ?? '')
      const rival = rivals.find((pattern) => fits(segments(pattern), path))
      if (rival === undefined) done()
      else void refuseMethod(reply, [...(routes.get(rival) ?? [])])
    }
    route.onRequest = [refuseLessSpecific, ...[onRequest].flat()]
  })
}

function refuseMethod(reply: FastifyReply, methods: readonly string[]): FastifyReply {
  return reply.code(405).header('allow', methods.join(', ')).send()
}

/** Returns the routes that match some paths of the route with `parts` with a fixed name instead of a parameter. */
function moreSpecificThan(parts: readonly string[], all: readonly SplitPattern[]): readonly string[] {
  const isFixed = (segment: string): boolean => !segment.startsWith(':')
  return all
    .filter(
      ({ parts: theirs }) =>
        theirs !== parts &&
        theirs.length === parts.length &&
        theirs.every((segment, i) => segment === parts[i] || (isFixed(segment) && !isFixed(parts[i] ?? ''))),
    )
    .map(({ pattern }) => pattern)
}

/** A route pattern and its segments. */
interface SplitPattern {
  readonly pattern: string
  readonly parts: readonly string[]
}

function methodsOf(routes: RouteTable, url: string): string[] {
  const path = segments(url.split('?')[0] ?? '')
  const methods = new Set<string>()
  const fitting = [...routes].filter(([pattern]) => fits(segments(pattern), path))
  // Only the matching patterns with the fewest parameters count.
  const fewest = Math.min(...fitting.map(([pattern]) => parametersIn(pattern)))
  for (const [pattern, taken] of fitting) {
    if (parametersIn(pattern) === fewest) for (const method of taken) methods.add(method)
  }
  return [...methods]
}

const parametersIn = (pattern: string): number => pattern.split(':').length - 1

const segments = (path: string): string[] => path.split('/').filter((segment) => segment !== '')

function fits(pattern: readonly string[], path: readonly string[]): boolean {
  return (
    pattern.length === path.length &&
    pattern.every((segment, i) => segment.startsWith(':') || segment === path[i])
  )
}
