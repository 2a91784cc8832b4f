import compress from '@fastify/compress'
import fastify, { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify'
import { BodyBudget, boundBodies } from './body/index.js'
import { UNREAD_COUNTED_BYTES_MIN, UNREAD_MS_MAX } from './limits.js'
import { logRequests, openMetrics } from './metrics/index.js'
import { collectOperations } from './operations/index.js'
import { NetworkBook } from './remotes/index.js'
import { routes } from './routes/index.js'
import { SearchQueue } from './searches/index.js'
import type { Services } from './services.js'
import { refuseGarbage, sendError, setUpTransport, UnreadAnswers } from './transport/index.js'

/** Longest path parameter: as long as any path can get, since the platform takes no longer request heads. */
const PARAM_CHARS_MAX = 16_384

/** Milliseconds one request may take to arrive: hours of patience would let idle uploads hold files open. */
const REQUEST_MS_MAX = 3_600_000

/**
 * Milliseconds from a connection, or from the first byte of a request, to the end of its head. The time a busy
 * server leaves it unread counts too: the platform's minute refused what was sent at once.
 */
const HEAD_MS_MAX = 300_000

/** The server with all routes, not listening yet. The services stay the caller's: closing it closes none. */
export function buildServer(services: Services): FastifyInstance {
  const app = fastify({
    // An option of fastify that changes the type of the raw server, which no route touches.
    ...(services.tls ? { https: services.tls } : {}),
    loggerInstance: services.log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: Number.MAX_SAFE_INTEGER,
    requestTimeout: REQUEST_MS_MAX,
    forceCloseConnections: 'idle',
    clientErrorHandler: refuseGarbage,
    exposeHeadRoutes: false,
    frameworkErrors: sendError,
    routerOptions: {
      maxParamLength: PARAM_CHARS_MAX,
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      // Query strings are read by the routes that declare parameters, from the raw text.
      querystringParser: () => ({}),
    },
  } as FastifyServerOptions) as FastifyInstance
  // Not among fastify's options.
  app.server.headersTimeout = HEAD_MS_MAX
  // An answer that waits for the one before it on its connection has no socket yet; the platform would then write
  // its `100 Continue` between head and body of that answer. Clients send their bodies without being told, too.
  app.server.on('checkContinue', (request, response) => {
    if (response.socket !== null) response.writeContinue()
    app.server.emit('request', request, response)
  })
  setUpTransport(app)
  boundBodies(app, new BodyBudget(services.options.bodiesBytesMax))
  boundUnreadAnswers(app, new UnreadAnswers(services.options.unreadBytesMax, UNREAD_MS_MAX))
  logRequests(app)
  app.addHook('onRequest', async (request) => {
    // A lone star expresses no wish: without the header nothing is compressed.
    if (request.headers['accept-encoding'] === '*') delete request.headers['accept-encoding']
  })
  void app.register(compress, {
    globalDecompression: false,
    encodings: ['br', 'gzip', 'deflate'],
    threshold: 0,
    customTypes: /json|^text\//,
  })
  const shared = {
    ...services,
    searches: new SearchQueue(services.options),
    network: new NetworkBook(services.instance),
    apiDocument: collectOperations(app, services.version.pkgVersion),
  }
  void app.register(routes, { ...shared, metrics: openMetrics(app, shared) })
  return app
}

/** Watches answers too long for the buffers of the system until their clients have read them. */
function boundUnreadAnswers(app: FastifyInstance, unread: UnreadAnswers): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (Buffer.isBuffer(payload) && payload.length >= UNREAD_COUNTED_BYTES_MIN)
      unread.add(reply.raw, payload.length)
    done()
  })
}
