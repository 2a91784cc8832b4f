import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { openAuth } from '../auth/index.js'
import { buildServer, defaultHttpOptions, type HttpOptions, memoryBounds } from '../http/index.js'
import {
  type EngineRequest,
  type Instance,
  type LaunchWebhook,
  openEmbedding,
  openFeaturesOf,
  openFollowerInstance,
  openInstance,
  openWebhooks,
  storedTasksMax,
} from '../instance/index.js'
import {
  addressText,
  type Build,
  type LaunchOptions,
  type Machine,
  type Run,
  withoutEffect,
} from '../launch/index.js'
import type { ReplicatedInstance } from '../replication/index.js'
import { type Logger, type LogOutlets, moduleLog } from '../telemetry/index.js'
import { openTls, type Tls } from '../tls/index.js'
import { exporterOver } from '../transfer/index.js'
import { cannotListen, requireFreeAddress } from './free-address.js'
import { judgeMasterKey } from './master-key.js'
import { scheduleSnapshots } from './snapshot-schedule.js'
import { type ArchiveStart, startFromArchive } from './start-from-archive.js'
import { startScreen } from './start-screen.js'
import { telemetryOf } from './telemetry.js'
import { textOf } from './text-of.js'
import { openTracing } from './tracing.js'

/** Milliseconds for running requests to finish during shutdown. Docker kills a container after ten seconds. */
const DRAIN_MS = 3_000

/**
 * Backlog of connections to accept; the system may limit it further (Linux: `net.core.somaxconn`). A burst of a few
 * hundred clients exceeds the default of Node.js, 511. The system drops further connections, and their clients retry
 * after 1, 3, 7, 15 and 31 seconds before they give up.
 */
const UNACCEPTED_MAX = 65_535

export interface ServeRequest {
  readonly options: LaunchOptions
  /** The given options and remarks about them. */
  readonly launch: Run
  readonly configFile: string | null
  readonly machine: Machine
  readonly version: string
  readonly build: Build
  readonly userDirectory: string
  readonly log: Logger
  readonly outlets: LogOutlets
  /** True if this server starts as a follower. */
  readonly follows: boolean
  /** Aborts an unfinished start, which then rejects with the reason of the signal. */
  readonly signal: AbortSignal
}

/** A server that accepts connections. */
export interface Serving {
  /** The text of `startScreen`. */
  readonly screen: string
  readonly url: string
  /** Aborted when the server must restart. */
  readonly ended: AbortSignal
  /** True if it must restart as a follower. */
  readonly followsNext: () => boolean
  /**
   * Interrupts indexing, stops accepting requests, waits a bounded time for running requests, then closes everything.
   */
  stop(): Promise<void>
}

/**
 * Opens everything and listens. Checks the options before it creates anything on disk, and opens the data before it
 * accepts connections.
 * @throws LaunchError for a fault that the user can fix
 */
export async function serve(request: ServeRequest): Promise<Serving> {
  const { options, log, version, signal } = request
  const key = judgeMasterKey(options)
  const tls = await openTls(options, log)
  await requireFreeAddress(options.httpAddr)
  const closers: (() => Promise<void>)[] = []
  const closeAll = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  closers.push(reloadOnHangUp(tls, log))
  try {
    const { cores } = request.machine
    const tracing = await openTracing(options, { version, log })
    closers.push(() => tracing.close())
    const embedding = openEmbedding({ options, version, cores, log, wrapOutbound: tracing.outbound })
    closers.push(() => embedding.close())
    const { outbound, rerankers } = embedding
    const embedders = tracing.embedders(embedding.embedders)
    const engine = {
      engine: options.engine,
      indexingMemoryBytes: indexingMemoryBytes(options),
      indexingThreads: options.maxIndexingThreads ?? cores,
      cacheBytes: options.cacheSize,
      answerCacheBytes: options.answerCacheSize,
      ...tracing.engine,
      log,
    }
    const imported = importOf(options)
    const isImported = imported !== null && (await importArchive(imported, engine, request))
    const open = (keepsChanges: boolean): Promise<Instance> =>
      openInstance({
        ...engine,
        directory: options.dbPath,
        keepsChanges,
        version,
        upgrade: options.upgradeDb,
        storedTasksMax: storedTasksMax(options),
        // After an import, the archive itself is the backup.
        upgradeSnapshot: !options.upgradeWithoutSnapshot && !isImported,
        signal,
        rebuildTaskStore: options.rebuildTaskStore,
        userDirectory: request.userDirectory,
        batch: {
          tasksMax: options.experimentalMaxNumberOfBatchedTasks,
          payloadBytesMax: options.experimentalLimitBatchedTasksTotalSize,
        },
        ...tracing.batches,
        exportIndex: exporterOver(tracing.outbound(outbound, 'remote'), options.httpPayloadSizeLimit),
        dumpDirectory: options.dumpDir,
        snapshots: { directory: options.snapshotDir, keptMax: options.snapshotsKept },
        embedders,
      })
    const end = new AbortController()
    let followsNext = true
    // Replication code is loaded only with a bucket.
    const replication = options.bucket === null ? null : await import('../replication/index.js')
    const replicated: ReplicatedInstance = await (replication === null || options.bucket === null
      ? open(false).then((instance) => ({ instance, sender: null, follower: null }))
      : replication.openReplicated({
          ...{ options, version, signal, open, follows: request.follows },
          ...{ directory: resolve(options.dbPath), log: moduleLog(log, 'bucket') },
          openFollowed: (refusal) =>
            openFollowerInstance({
              ...{ ...engine, directory: options.dbPath, version, refusal },
              userDirectory: request.userDirectory,
            }),
          onEnd: (follows) => {
            followsNext = follows
            end.abort()
          },
          openProgress: async () => {
            const { openProgress } = await import('./command/index.js')
            return openProgress(process.stderr, (doing, finished, total) =>
              moduleLog(log, 'bucket').info({ finished, total }, doing),
            )
          },
          bucket: replication.openBucket({
            options: { ...options, bucket: options.bucket },
            ...{ log: moduleLog(log, 'bucket'), env: process.env, readText: textOf },
            outbound: tracing.outbound(outbound, 'bucket'),
          }),
        }))
    const { sender, follower } = replicated
    const { data, opened, queue, faults } = replicated.instance
    closers.push(() => replicated.instance.close())
    for (const running of [sender, follower])
      if (running !== null) {
        running.start()
        closers.push(() => running.stop())
      }
    let isServing = false
    const writes =
      replication === null || sender === null
        ? queue
        : replication.acknowledging(queue, sender, options.bucketAck, () => isServing)
    for (const remark of [...request.launch.remarks, ...withoutEffect(request.launch.given, opened.kind)])
      log.warn(remark)
    signal.throwIfAborted()
    const webhooks = await openWebhooks({
      store: writes.webhooks,
      outbound: tracing.outbound(outbound, 'webhook'),
      launch: launchWebhook(options),
      log: moduleLog(log, 'webhooks'),
    })
    closers.push(() => webhooks.close())
    const features = await openFeaturesOf(writes.instance, options)
    const telemetry = telemetryOf(options)
    const instance = {
      ...{ engine: opened.engine, tasks: queue.tasks, features },
      ...{ run: request.launch, directory: data.path },
    }
    const { instanceUid, isFirstStart } = data
    closers.push(await telemetry.start({ instance, instanceUid, isFirstStart, version, log }))
    const app = buildServer({
      engine: opened.engine,
      answers: opened.answers,
      tasks: writes.tasks,
      settingsThread: queue.settingsThread,
      instance: writes.instance,
      webhooks,
      outbound: tracing.outbound(outbound, 'remote'),
      tracer: tracing.tracer,
      embedders,
      rerankers,
      auth: await openAuth({ masterKey: options.masterKey, store: writes.instance }),
      features,
      options: httpOptions(request.launch, request.machine),
      log: moduleLog(log, 'http'),
      faults,
      usage: telemetry.usage,
      outlets: request.outlets,
      version: { ...request.build, pkgVersion: version },
      replicated: replication?.replicatedBy(replicated, options) ?? null,
      createServer: tls && ((handler) => tls.createServer(handler)),
    })
    closers.push(async () => {
      tls?.close()
      const deadline = setTimeout(() => app.server.closeAllConnections(), DRAIN_MS)
      await app.close()
      clearTimeout(deadline)
    })
    signal.throwIfAborted()
    isServing = true
    queue.start()
    if (options.scheduleSnapshot !== null && follower === null) {
      const end = scheduleSnapshots(queue.tasks, options.scheduleSnapshot, log)
      closers.push(() => Promise.resolve(end()))
    }
    const { httpAddr } = options
    const scheme = tls === null ? 'http' : 'https'
    const listening = {
      ...httpAddr,
      backlog: UNACCEPTED_MAX,
      listenTextResolver: (at: string) => `Server listening at ${at.replace(/^http:/, `${scheme}:`)}`,
    }
    await app.listen(listening).catch((error: NodeJS.ErrnoException) => {
      throw cannotListen(httpAddr, error)
    })
    const { address, port } = app.server.address() as AddressInfo
    await tls?.listenOnAliases(httpAddr.host, port, address)
    const url = `${scheme}://${addressText({ ...httpAddr, port })}`
    const screen = startScreen({
      version,
      build: request.build,
      configFile: request.configFile,
      directory: data.path,
      url,
      environment: options.env,
      engine: opened,
      cacheBytes: options.cacheSize,
      taskStore: queue.driver,
      telemetry: telemetry.shown,
      instanceUid,
      key,
      rebuilt: 'rebuilt' in replicated.instance ? replicated.instance.rebuilt : null,
    })
    return {
      screen,
      url,
      ended: end.signal,
      followsNext: () => followsNext,
      async stop() {
        // Interrupting a batch and finishing requests both take time, so they run at the same time.
        const stopped = queue.stop()
        await closeAll()
        await stopped
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/**
 * Reloads the TLS files at SIGHUP. Without TLS it only logs a line. On Windows that signal means
 * that the console was closed.
 */
function reloadOnHangUp(tls: Tls | null, log: Logger): () => Promise<void> {
  if (process.platform === 'win32') return async () => undefined
  const answer = (): void => {
    if (tls !== null) void tls.reload()
    else log.info({ signal: 'SIGHUP' }, 'nothing is reloaded: the server has no certificate')
  }
  process.on('SIGHUP', answer)
  return async () => void process.off('SIGHUP', answer)
}

type Import = Pick<ArchiveStart, 'kind' | 'archive' | 'ignoreMissing' | 'ignoreIfDbExists'>

/** The archive to import; null: none. The options exclude each other. */
function importOf(options: LaunchOptions): Import | null {
  if (options.importDump !== null)
    return {
      kind: 'dump',
      archive: options.importDump,
      ignoreMissing: options.ignoreMissingDump,
      ignoreIfDbExists: options.ignoreDumpIfDbExists,
    }
  if (options.importSnapshot === null) return null
  return {
    kind: 'snapshot',
    archive: options.importSnapshot,
    ignoreMissing: options.ignoreMissingSnapshot,
    ignoreIfDbExists: options.ignoreSnapshotIfDbExists,
  }
}

/** @returns true if the archive was imported */
async function importArchive(
  imported: Import,
  engine: EngineRequest,
  { options, version, log, signal }: ServeRequest,
): Promise<boolean> {
  const { openProgress } = await import('./command/index.js')
  const line = await openProgress(process.stderr, (doing, finished, total) =>
    log.info({ finished, total }, doing),
  )
  try {
    return await startFromArchive({
      ...engine,
      ...imported,
      directory: options.dbPath,
      version,
      upgrade: options.upgradeDb,
      signal,
      progress: (...given) => line.show(...given),
    })
  } finally {
    line.end()
  }
}

/** Share of the indexing memory with `--experimental-reduce-indexing-memory-usage`. */
const REDUCED_SHARE = 1 / 4

const indexingMemoryBytes = ({
  maxIndexingMemory,
  experimentalReduceIndexingMemoryUsage: isReduced,
}: LaunchOptions): number => (isReduced ? Math.floor(maxIndexingMemory * REDUCED_SHARE) : maxIndexingMemory)

function launchWebhook({
  taskWebhookUrl,
  taskWebhookAuthorizationHeader,
}: LaunchOptions): LaunchWebhook | null {
  return taskWebhookUrl === null
    ? null
    : { url: taskWebhookUrl, authorization: taskWebhookAuthorizationHeader }
}

/** HTTP options of a start. */
export function httpOptions(
  { options, given }: Pick<Run, 'options' | 'given'>,
  { cores, memoryBytes }: Machine,
): HttpOptions {
  return {
    ...defaultHttpOptions,
    ...memoryBounds(memoryBytes),
    payloadBytesMax: options.httpPayloadSizeLimit,
    payloadIsChosen: given.has('httpPayloadSizeLimit'),
    searchesRunningMax: cores * options.experimentalNbSearchesPerCore,
    searchesWaitingMax: options.experimentalSearchQueueSize,
    searchWaitMsMax: options.experimentalDropSearchAfter * 1000,
    remoteSearchMsMax: options.experimentalRemoteSearchTimeoutSeconds * 1000,
    page: options.page || options.env === 'development',
    mcpWrites: options.mcpWrites,
    mcpAllowedOrigins: options.mcpAllowedOrigins,
    openAiKey: options.openaiApiKey,
    slowQueryMs: options.slowQueryMs,
    queryStats: options.queryStats,
    hashQueryText: options.hashQueryText,
  }
}
