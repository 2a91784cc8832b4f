import compress from '@fastify/compress'
import fastify, { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify'
import { RuleFilters } from '../operations/index.js'
import { moduleLog } from '../telemetry/index.js'
import { boundBodies } from './body/index.js'
import { routeCells } from './cells/index.js'
import { TaskWaits } from './following/index.js'
import { UNREAD_COUNTED_BYTES_MIN } from './limits.js'
import type { LoopFigures } from './loop-figures.js'
import { MemoryBudget } from './memory-budget.js'
import { LazyLog, logRequests, openCounts, openMetrics } from './metrics/index.js'
import { observeSearches } from './observation/index.js'
import { collectOperations } from './operations/index.js'
import { type CountedSearch, QueryWatch } from './queries/index.js'
import { NetworkBook } from './remotes/index.js'
import { showPositions } from './replicas/index.js'
import type { SearchRouteServices } from './route-services.js'
import { hotRoutes, routes } from './routes/index.js'
import { SearchQueue } from './searches/index.js'
import type { Services } from './services.js'
import { TracedSearchQueue, traceRequests } from './tracing.js'
import {
  closeAfterAnswers,
  InnerCalls,
  type OnError,
  refuseMalformed,
  sendError,
  setUpTransport,
  UnreadAnswers,
} from './transport/index.js'

/** Characters of a path parameter. Node.js accepts no longer request head, so another limit always applies first. */
const PARAM_CHARS_MAX = 16_384

/** Milliseconds that a complete request may take to arrive. Bounds the time that slow uploads hold files open. */
const REQUEST_MS_MAX = 3_600_000

/**
 * Milliseconds from a connection, or from the first byte of a request, to the end of its head. Includes the time that a
 * busy server needs to read the head: with the default of a minute, requests that were sent at once were refused.
 */
const HEAD_MS_MAX = 300_000

/** Returns the server with all routes, not listening yet. Closing the server closes none of the services. */
export function buildServer(services: Services): FastifyInstance {
  const app = bareServer(services)
  const shared = {
    ...services,
    searches: searchQueue(services),
    similarSearches: searchQueue(services),
    remoteAnswers: remoteAnswers(services),
    waits: new TaskWaits(services.tasks, services.options.taskWaitsMax),
    network: new NetworkBook(services.instance),
    queries: services.queryWatch ?? new QueryWatch(services.options, moduleLog(services.log, 'queries')),
    ruleFilters: new RuleFilters(services.engine, moduleLog(services.log, 'queries')),
    apiDocument: collectOperations(app, services.version.pkgVersion),
    innerCalls: new InnerCalls(app),
  }
  if (services.cells) routeCells(app, services.cells)
  void app.register(routes, { ...shared, metrics: openMetrics(app, shared) })
  return app
}

/** The services of a server for the routes that several threads answer. */
type SearchServerServices = Omit<
  SearchRouteServices,
  'searches' | 'similarSearches' | 'remoteAnswers' | 'queries' | 'metrics' | 'replicated' | 'cells'
> &
  Pick<Services, 'log' | 'createServer'>

/** Parts of a server for searches that its caller provides. */
interface SearchServerHooks {
  /** Counts a query, if the options ask for it. */
  readonly countQuery: (search: CountedSearch) => void
  /** Answers a request that failed. */
  readonly onError: OnError
  /** Begins the ids of requests in the log, so that they differ from those of other threads. */
  readonly idPrefix: string
}

/** Returns a server for one of several threads, and a function that reads its figures. */
export function buildSearchServer(
  services: SearchServerServices,
  { countQuery, onError, idPrefix }: SearchServerHooks,
): { readonly app: FastifyInstance; readonly figures: () => Promise<LoopFigures> } {
  const app = bareServer(services, onError, idPrefix)
  const { registry, countDegraded } = openCounts(app, services)
  const searches = new SearchQueue(services.options)
  void app.register(hotRoutes, {
    ...services,
    searches,
    similarSearches: new SearchQueue(services.options),
    remoteAnswers: remoteAnswers(services),
    queries: new QueryWatch(services.options, moduleLog(services.log, 'queries'), countQuery),
    metrics: { countDegraded },
    replicated: null,
    cells: null,
  })
  const figures = async (): Promise<LoopFigures> => ({
    metrics: await registry.getMetricsAsJSON(),
    answers: services.answers.figures(),
    waitingMax: services.options.searchesWaitingMax,
    running: searches.running,
    waiting: searches.waiting,
  })
  return { app, figures }
}

/** Returns a server with the rules for all connections and requests, but without routes. */
function bareServer(
  {
    tracer = null,
    ...services
  }: Pick<Services, 'options' | 'log' | 'createServer' | 'replicated' | 'tracer'>,
  onError: OnError = sendError,
  idPrefix = 'req-',
): FastifyInstance {
  let requests = 0
  const app = fastify({
    // The option changes the type of fastify's raw server, which no route uses. Hence the casts.
    ...(services.createServer && { serverFactory: services.createServer }),
    loggerInstance: new LazyLog(() => services.log),
    genReqId: () => `${idPrefix}${(++requests).toString(36)}`,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: Number.MAX_SAFE_INTEGER,
    requestTimeout: REQUEST_MS_MAX,
    // Requests that arrive on open connections during shutdown are served: the services close after the server.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    clientErrorHandler: refuseMalformed,
    exposeHeadRoutes: false,
    // Routes declare no schemas to fastify. Its default would load a schema compiler.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    frameworkErrors: (error, request, reply) => onError(error, request, reply),
    routerOptions: {
      maxParamLength: PARAM_CHARS_MAX,
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      // `serve` parses the raw query string of routes that declare parameters.
      querystringParser: () => ({}),
    },
  } as FastifyServerOptions) as FastifyInstance
  // fastify has no option for the first, and sets the second only on servers that it created.
  app.server.headersTimeout = HEAD_MS_MAX
  app.server.requestTimeout = REQUEST_MS_MAX
  closeAfterAnswers(app.server)
  // With pipelined requests, an answer has no socket until the previous one was sent. `writeContinue` would then write
  // `100 Continue` between head and body of that answer. Clients send their bodies without it after a while.
  app.server.on('checkContinue', (request, response) => {
    if (response.socket !== null) response.writeContinue()
    app.server.emit('request', request, response)
  })
  if (tracer !== null) traceRequests(app, tracer)
  setUpTransport(app, services.options, onError)
  boundBodies(app, new MemoryBudget(services.options.bodiesBytesMax, 'large bodies'), onError !== sendError)
  boundUnreadAnswers(app, new UnreadAnswers(services.options.unreadBytesMax, services.options.unreadMsMax))
  logRequests(app, services.log)
  observeSearches(app)
  app.addHook('onRequest', (request, _reply, done) => {
    // `*` alone prefers no encoding, so the answer is not compressed, as without the header.
    if (request.headers['accept-encoding'] === '*') delete request.headers['accept-encoding']
    done()
  })
  if (services.replicated) showPositions(app, services.replicated)
  void app.register(compress, {
    globalDecompression: false,
    encodings: ['br', 'gzip', 'deflate'],
    threshold: 0,
    // Compression would delay the events of a stream.
    customTypes: /json|svg|^text\/(?!event-stream)/,
  })
  return app
}

const searchQueue = ({ options, tracer = null }: Pick<Services, 'options' | 'tracer'>): SearchQueue =>
  tracer === null ? new SearchQueue(options) : new TracedSearchQueue(options, tracer)

const remoteAnswers = ({ options }: Pick<Services, 'options'>): MemoryBudget =>
  new MemoryBudget(options.bodiesBytesMax, 'large answers of remotes')

function noSchemas(): never {
  throw new Error('routes read bodies and render answers themselves')
}

/** Counts long answers until their clients have read them. */
function boundUnreadAnswers(app: FastifyInstance, unread: UnreadAnswers): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (Buffer.isBuffer(payload) && payload.length >= UNREAD_COUNTED_BYTES_MIN)
      unread.add(reply.raw, payload.length)
    done()
  })
}
