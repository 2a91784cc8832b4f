import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { ExecutionContext } from 'ava'
import { type KeyBook, openAuth } from '../../ts/auth/index.js'
import { type EmbeddersSetup, type ModelsSetup, openEmbedders, openModels } from '../../ts/embedding/index.js'
import { answersOf } from '../../ts/engine/answer-cache.js'
import { BackgroundFaults, type Engine, openEngine } from '../../ts/engine/index.js'
import { buildServer, type Cells, defaultHttpOptions, type HttpOptions } from '../../ts/http/index.js'
import {
  AnalysisWatch,
  dumperTo,
  type Feature,
  type Features,
  type LaunchWebhook,
  openFeatures,
  openWebhooks,
  snapshotterTo,
} from '../../ts/instance/index.js'
import { type AllowedNetworks, type Outbound, openOutbound } from '../../ts/outbound/index.js'
import type { Replicated } from '../../ts/replication/index.js'
import { openRerankers, type PersonalizationOptions } from '../../ts/reranking/index.js'
import { openTasks, type Tasks, type TasksSetup, type UidClass } from '../../ts/tasks/index.js'
import { moduleLog, openLogWithOutlets, openUsage, type Usage } from '../../ts/telemetry/index.js'
import {
  type CallPurpose,
  Tracer,
  type TracerSetup,
  tracedBatch,
  tracedEmbedders,
  tracedEngine,
  tracedOutbound,
  tracedRerankers,
} from '../../ts/tracing/index.js'
import { exporterOver } from '../../ts/transfer/index.js'
import { nativeEngine } from './requirements.js'

export interface TestServerOptions extends Partial<HttpOptions> {
  readonly masterKey?: string
  readonly usage?: Usage
  readonly features?: readonly Feature[]
  /** Clock for the expiry of keys and tokens, in milliseconds since 1970. */
  readonly now?: () => number
  /** Wraps the engine of the server, to observe or delay calls. */
  readonly wrapEngine?: (engine: Engine) => Engine
  /** Wraps the engine of the task queue. */
  readonly queueEngine?: (engine: Engine) => Engine
  /** Maximum size of a batch. 0 tasks pauses the queue. */
  readonly limits?: NonNullable<TasksSetup['limits']>
  /** Webhook from the launch options. */
  readonly taskWebhook?: LaunchWebhook
  /** An existing data directory. Default: an empty one that is removed when the test ends. */
  readonly directory?: string
  /** Paths of word dictionaries. Default: none. */
  readonly dictionaries?: readonly string[]
  /** Directory for dumps. Default: in the data directory. */
  readonly dumpDirectory?: string
  /** Directory for snapshots, and how many to keep. Default: one, in the data directory. */
  readonly snapshots?: { readonly directory: string; readonly keptMax: number }
  /** Version in snapshots. Default: 0.0.0. */
  readonly version?: string
  /** Default: only public addresses. */
  readonly allowedNetworks?: AllowedNetworks
  /** The instance's bucket, as routes see it. */
  readonly replicated?: Replicated
  /** The cells of the placement. Default: no other cell has indexes. */
  readonly cells?: Cells
  /** Uids of tasks and batches. Default: all. */
  readonly uidClass?: UidClass
  /** True to analyse outdated indexes again at the start. */
  readonly reindexOnUpgrade?: boolean
  /** Setup of embedders. */
  readonly embedding?: Partial<EmbeddersSetup>
  /** Traces. Default: none. */
  readonly tracing?: Partial<TracerSetup>
  /** Service of personalized searches. Default: none. */
  readonly personalization?: Partial<PersonalizationOptions>
  /** Destination of the log. Default: nowhere. */
  readonly log?: Writable
  /** Folder and source of local models. Default: no source. */
  readonly models?: Partial<ModelsSetup>
}

export interface TestAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  /** The body as JSON; `{}` if it is empty. */
  readonly body: TestBody
}

/** Any JSON object of the API. A missing key reads as undefined, so an assertion on it fails. */
export interface TestBody {
  readonly [key: string]: unknown
  readonly message: string
  readonly code: string
  readonly link: string
  readonly key: string
  readonly uuid: string
  readonly total: number
  readonly taskUid: number
  readonly status: string
  readonly updatedAt: string
  readonly error: TestBody
  readonly details: TestBody
  readonly results: readonly TestBody[]
  readonly hits: readonly TestBody[]
}

export interface TestRequest {
  /** Sent as JSON unless it is text or bytes. */
  readonly body?: unknown
  /** Undefined removes a default header. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** A real server on a free port. */
export interface TestServer {
  readonly url: string
  request(method: string, path: string, request?: TestRequest): Promise<TestAnswer>
  get(path: string, request?: TestRequest): Promise<TestAnswer>
  post(path: string, body?: unknown, request?: TestRequest): Promise<TestAnswer>
  put(path: string, body?: unknown, request?: TestRequest): Promise<TestAnswer>
  patch(path: string, body?: unknown, request?: TestRequest): Promise<TestAnswer>
  delete(path: string, request?: TestRequest): Promise<TestAnswer>
  /** Asserts that a write is accepted and waits for its task. @returns the finished task */
  settle(t: ExecutionContext, accepted: Promise<TestAnswer>): Promise<TestBody>
  /** The components behind the routes. */
  readonly parts: {
    readonly engine: Engine
    readonly tasks: Tasks
    readonly features: Features
    readonly keys: KeyBook
    readonly directory: string
  }
  /** Stops the queue, the first step of a shutdown. */
  haltQueue(): Promise<void>
  /** Closes the server as a shutdown does: open requests are answered. */
  drain(): Promise<void>
  /** Closes every connection and accepts no new one. */
  vanish(): Promise<void>
  /** Closes everything, so that the data directory can be opened again. Also called when the test ends. */
  stop(): Promise<void>
}

/** The engine for tests that need only one: SIFTD_TEST_ENGINE, or native if it is built. */
export const testEngine: 'native' | 'fallback' =
  (process.env.SIFTD_TEST_ENGINE ?? (nativeEngine.missing === null ? 'native' : 'fallback')) === 'native'
    ? 'native'
    : 'fallback'

const TASK_POLL_MS = 5

const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })

/** Starts a server with an empty data directory. Stops it and removes the directory when the test ends. */
export async function startServer(t: ExecutionContext, options: TestServerOptions = {}): Promise<TestServer> {
  const {
    masterKey,
    usage = openUsage(),
    features,
    now = Date.now,
    wrapEngine = (engine) => engine,
    queueEngine = (engine) => engine,
    taskWebhook = null,
    limits = {},
    allowedNetworks = [],
    dumpDirectory,
    snapshots,
    version = '0.0.0',
    embedding = {},
    personalization = {},
    tracing,
    models: modelsSetup = {},
    replicated = null,
    cells = null,
    uidClass,
    reindexOnUpgrade = false,
    log: destination = nowhere,
    directory: given,
    dictionaries = [],
    ...httpOptions
  } = options
  const directory = given ?? (await mkdtemp(join(tmpdir(), 'siftd-http-')))
  const { log, outlets } = openLogWithOutlets({ level: 'OFF', mode: 'JSON', destination })
  const faults = new BackgroundFaults(log)
  const setup = {
    directory: join(directory, 'indexes'),
    log,
    faults,
    indexingMemoryBytes: 64 * 1024 * 1024,
    indexingThreads: 1,
    dictionaries,
  }
  const { engine, kind } = await openEngine(testEngine, setup)
  const outbound = openOutbound({ allowedNetworks })
  const exporting = openOutbound({ allowedNetworks: 'any' })
  const tracer =
    tracing === undefined
      ? null
      : new Tracer({
          ...{ outbound: exporting, endpoint: '', headers: {}, sampleRatio: 1, showsQueries: false },
          ...{ service: { version: '0.0.0', instanceId: 'test' }, report: () => undefined },
          intervalMs: 5,
          ...tracing,
        })
  const calls = (purpose: CallPurpose): Outbound =>
    tracer === null ? outbound : tracedOutbound(outbound, tracer, purpose)
  const models = openModels({
    outbound,
    directory: join(directory, 'models'),
    hubUrl: 'http://localhost:9',
    hubToken: null,
    threads: 1,
    version: '0.0.0',
    report: () => undefined,
    ...modelsSetup,
  })
  const opened = openEmbedders({
    outbound: calls('embedding'),
    models,
    timeoutMs: 30_000,
    pauseMsMax: 60_000,
    cachedQueries: 0,
    requestsPerMinute: null,
    failureModes: { ignoreTemplates: false, ignoreProviders: false },
    defaults: { openAiKey: null, ollamaUrl: 'http://localhost:11434/api/embeddings' },
    ...embedding,
  })
  const embedders = tracer === null ? opened : tracedEmbedders(opened, tracer)
  const openedRerankers = openRerankers({
    outbound: calls('reranking'),
    models,
    personalization: { apiKey: null, url: null, model: 'model', ...personalization },
    wait: async () => undefined,
  })
  const rerankers = tracer === null ? openedRerankers : tracedRerankers(openedRerankers, tracer)
  const queue = await openTasks({
    directory,
    engine: queueEngine(tracer === null ? engine : tracedEngine(engine, tracer)),
    ...(tracer !== null && { aroundBatch: (batch, run) => tracedBatch(tracer, batch, run) }),
    log,
    faults,
    ...{ limits, uidClass },
    capacity: { reserveBytes: 64 * 1024 },
    exportIndex: exporterOver(outbound, httpOptions.payloadBytesMax ?? defaultHttpOptions.payloadBytesMax),
    writeDump: dumperTo({
      directory: dumpDirectory ?? join(directory, 'dumps'),
      version: '0.0.0',
      instanceUid: '5e0a3f0c-6f3b-4f5e-9b52-0d5f6f0f7c11',
    }),
    writeSnapshot: snapshotterTo({
      ...(snapshots ?? { directory: join(directory, 'snapshots'), keptMax: 1 }),
      name: 'data.ms',
      engine: kind,
      version,
      instanceUid: '5e0a3f0c-6f3b-4f5e-9b52-0d5f6f0f7c11',
    }),
    embedders,
    rerankers,
  })
  const webhooks = await openWebhooks({
    store: queue.webhooks,
    outbound: calls('webhook'),
    launch: taskWebhook,
    log,
  })
  const wrapped = wrapEngine(tracer === null ? engine : tracedEngine(engine, tracer))
  const flags = await openFeatures(queue.instance, features)
  const analysis = new AnalysisWatch({
    ...{ engine, tasks: queue.tasks, log, reindexes: reindexOnUpgrade },
  })
  const auth = await openAuth({ masterKey: masterKey ?? null, store: queue.instance, now })
  const app = buildServer({
    analysis,
    engine: wrapped,
    // No answer cache with a wrapped engine, because cached answers would bypass the wrapper.
    answers: answersOf(wrapped, wrapped === engine ? 8 * 1024 * 1024 : 0),
    tasks: queue.tasks,
    settingsThread: queue.settingsThread,
    instance: queue.instance,
    webhooks,
    outbound: calls('remote'),
    tracer,
    embedders,
    rerankers,
    auth,
    features: flags,
    options: { ...defaultHttpOptions, ...httpOptions },
    log: moduleLog(log, 'http'),
    faults,
    usage,
    outlets,
    version: { commitSha: 'unknown', commitDate: 'unknown', pkgVersion: '0.0.0' },
    replicated,
    cells,
  })
  queue.start()
  await analysis.start()
  // As `siftd serve`: the default refuses connections of a thousand clients at once.
  await app.listen({ host: '127.0.0.1', port: 0, backlog: 65_535 })
  const { port } = app.server.address() as AddressInfo
  const vanish = async (): Promise<void> => {
    app.server.closeAllConnections()
    await app.close()
  }
  let stopped: Promise<void> | null = null
  const stop = (): Promise<void> => {
    stopped ??= (async () => {
      await vanish()
      await webhooks.close()
      models.close()
      await outbound.close()
      await tracer?.close()
      await exporting.close()
      await queue.close()
      await engine.close()
    })()
    return stopped
  }
  t.teardown(async () => {
    await stop()
    if (given === undefined) await rm(directory, { recursive: true, force: true })
  })
  const parts = { engine: wrapped, tasks: queue.tasks, features: flags, keys: auth.keys, directory }
  return {
    ...clientOf(port, masterKey),
    parts,
    haltQueue: queue.stop,
    drain: async () => app.close(),
    vanish,
    stop,
  }
}

function clientOf(
  port: number,
  masterKey: string | undefined,
): Omit<TestServer, 'parts' | 'haltQueue' | 'drain' | 'vanish' | 'stop'> {
  const request = (
    method: string,
    path: string,
    { body, headers = {} }: TestRequest = {},
  ): Promise<TestAnswer> =>
    new Promise((resolve, reject) => {
      const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
      const payload = body === undefined ? undefined : isRaw ? body : JSON.stringify(body)
      const sent: Record<string, string | undefined> = {
        ...(payload !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(payload)),
        }),
        ...(masterKey !== undefined && { authorization: `Bearer ${masterKey}` }),
        ...headers,
      }
      const given = Object.entries(sent).filter((entry): entry is [string, string] => entry[1] !== undefined)
      const outgoing = httpRequest(
        { host: '127.0.0.1', port, method, path, headers: Object.fromEntries(given) },
        (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk: Buffer) => chunks.push(chunk))
          answer.on('end', () => {
            const bytes = Buffer.concat(chunks)
            const { 'content-type': type, 'content-encoding': encoding } = answer.headers
            const isJson = type === 'application/json' && encoding === undefined && bytes.length > 0
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              bytes,
              body: (isJson ? JSON.parse(bytes.toString()) : {}) as TestBody,
            })
          })
        },
      )
      outgoing.on('error', reject)
      // Node.js does not listen for errors between an early answer and the end of the body, whose rest may fail.
      outgoing.once('socket', (socket) => {
        if (!outgoing.reusedSocket) socket.on('error', () => undefined)
      })
      outgoing.end(payload)
    })
  return {
    url: `http://127.0.0.1:${port}`,
    request,
    get: (path, options) => request('GET', path, options),
    post: (path, body, options) => request('POST', path, { body, ...options }),
    put: (path, body, options) => request('PUT', path, { body, ...options }),
    patch: (path, body, options) => request('PATCH', path, { body, ...options }),
    delete: (path, options) => request('DELETE', path, options),
    async settle(t, accepted) {
      const { status, body } = await accepted
      t.true(status === 202 || status === 200, `the write was accepted: ${JSON.stringify(body)}`)
      for (;;) {
        const task = await request('GET', `/tasks/${body.taskUid}`)
        if (!['enqueued', 'processing'].includes(task.body.status)) return task.body
        await new Promise((resolve) => setTimeout(resolve, TASK_POLL_MS))
      }
    },
  }
}
