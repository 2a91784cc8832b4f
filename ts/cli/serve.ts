import type { RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { resolve } from 'node:path'
import type { ApiError } from '../errors/index.js'
import { defaultHttpOptions, type HttpOptions, memoryBounds } from '../http/index.js'
import {
  type EngineRequest,
  type FollowerInstance,
  type Instance,
  openEmbedding,
  openFollowerInstance,
  openInstance,
  storedTasksMax,
} from '../instance/index.js'
import { addressText, type Build, type LaunchOptions, type Machine, type Run } from '../launch/index.js'
import { type Outbound, openOutbound } from '../outbound/index.js'
import type { Connected, ReplicatedInstance, StartRole } from '../replication/index.js'
import type { UidClass } from '../tasks/index.js'
import { type Logger, type LogOutlets, moduleLog } from '../telemetry/index.js'
import { openTls, type Tls } from '../tls/index.js'
import { exporterOver } from '../transfer/index.js'
import { cannotListen, requireFreeAddress } from './free-address.js'
import { drained, Front } from './front.js'
import { type GenerationSetup, openGeneration } from './generation.js'
import { judgeMasterKey } from './master-key.js'
import { type ArchiveStart, startFromArchive } from './start-from-archive.js'
import { startScreen } from './start-screen.js'
import { telemetryOf } from './telemetry.js'
import { textOf } from './text-of.js'
import { openTracing } from './tracing.js'

/** Milliseconds for running requests to finish during shutdown. Docker kills a container after ten seconds. */
const DRAIN_MS = 3_000

/** Milliseconds for requests that a follower had accepted before it became the leader. */
const FORMER_MS = 30_000

/**
 * Backlog of connections to accept; the system may limit it further (Linux: `net.core.somaxconn`). A burst of a few
 * hundred clients exceeds the default of Node.js, 511. The system drops further connections, and their clients retry
 * after 1, 3, 7, 15 and 31 seconds before they give up.
 */
const UNACCEPTED_MAX = 65_535

/** Threads of the fallback engine that search, unless chosen or limited by the cores: each holds copies of indexes. */
const FALLBACK_SEARCH_THREADS = 4

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
  readonly startsAs: StartRole
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
  /** How it must restart. */
  readonly nextRole: () => StartRole
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
    const { outbound } = embedding
    const embedders = tracing.embedders(embedding.embedders)
    const rerankers = tracing.rerankers(embedding.rerankers)
    const engine = {
      engine: options.engine,
      indexingMemoryBytes: indexingMemoryBytes(options),
      indexingThreads: options.maxIndexingThreads ?? cores,
      searchThreads: searchThreads(request, cores),
      cacheBytes: options.cacheSize,
      answerCacheBytes: options.answerCacheSize,
      ...tracing.engine,
      log,
    }
    const imported = importOf(options)
    const isImported = imported !== null && (await importArchive(imported, engine, request))
    let uidClass: UidClass | undefined
    const open = (keepsChanges: boolean): Promise<Instance> =>
      openInstance({
        ...engine,
        directory: options.dbPath,
        ...{ keepsChanges, uidClass },
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
        rerankers,
      })
    const end = new AbortController()
    let nextRole: StartRole = 'follower'
    const restart = (as: StartRole): void => {
      nextRole = as
      end.abort()
    }
    // Replication code is loaded only with a bucket.
    const replication = options.bucket === null ? null : await import('../replication/index.js')
    const telemetry = telemetryOf(options)
    const create = tls && ((handler: RequestListener) => tls.createServer(handler))
    const front = options.candidate !== 'no' ? new Front(create) : null
    // Other servers of the bucket are trusted, wherever they are.
    const peers = replication === null ? null : peersOf(closers)
    const cell =
      options.cell === null || peers === null
        ? null
        : await (await import('./cells.js')).openCell({
            ...{ options, peers, signal, log: moduleLog(log, 'bucket') },
            outbound: tracing.outbound(outbound, 'bucket'),
          })
    if (cell !== null) closers.push(() => cell.close())
    uidClass = cell?.uidClass
    const setup: GenerationSetup = {
      ...{ options, launch: request.launch, version, build: request.build, log, outlets: request.outlets },
      ...{ embedding: { outbound, embedders, rerankers }, tracing, telemetry, replication, peers, signal },
      cells: cell?.cells ?? null,
      http: httpOptions(request.launch, request.machine),
      createServer: front?.createServer ?? create,
    }
    /** Resolves once this server leads, if its follower was elected. */
    let promoting: Promise<void> = Promise.resolve()
    /** Resolves once its former instance is closed. */
    let retiring: Promise<void> = Promise.resolve()
    const bucketRequest =
      replication === null || options.bucket === null
        ? null
        : {
            ...{ options, version, signal, open, startsAs: request.startsAs },
            ...{ directory: resolve(options.dbPath), log: moduleLog(log, 'bucket'), onEnd: restart },
            openFollowed: (refusal: () => ApiError) =>
              openFollowerInstance({
                ...{ ...engine, directory: options.dbPath, version, refusal },
                userDirectory: request.userDirectory,
              }),
            peers: peers ?? outbound,
            onElected: (taken: Connected) => {
              promoting = promote(taken)
              return promoting
            },
            async openProgress() {
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
          }
    const replicated: ReplicatedInstance =
      bucketRequest === null || replication === null
        ? { instance: await open(false), sender: null, follower: null, watch: null }
        : await replication.openReplicated(bucketRequest)
    let generation = await openGeneration(setup, replicated)
    closers.push(() => generation.close())
    const { app } = generation
    closers.push(async () => {
      tls?.close()
      await generation.loops?.stop(DRAIN_MS)
      const deadline = setTimeout(() => app.server.closeAllConnections(), DRAIN_MS)
      await app.close()
      clearTimeout(deadline)
    })
    generation.start()

    /** Makes this follower the leader, after it took over the log. Searches are answered during the change. */
    async function promote(taken: Connected): Promise<void> {
      const former = generation
      const { instance, follower } = former.replicated
      if (front === null || bucketRequest === null || replication === null || follower === null) return
      try {
        await follower.stop()
        const leading = await replication.openElected(bucketRequest, taken, instance as FollowerInstance)
        const next = await openGeneration({ ...setup, createServer: null }, leading)
        generation = next
        await next.app.ready()
        const open = front.switchTo(next.app.routing)
        next.start()
        log.warn('this server is the leader now')
        retiring = drained(open, FORMER_MS)
          .then(() => former.close())
          .catch((error: unknown) => log.warn({ err: error }, 'the former follower did not close'))
      } catch (error) {
        log.error({ err: error }, 'this server took over the log but cannot lead: it restarts')
        restart('follower')
      }
    }
    const { httpAddr } = options
    const scheme = tls === null ? 'http' : 'https'
    const address = { ...httpAddr, backlog: UNACCEPTED_MAX }
    const { data, opened, queue } = replicated.instance
    const { loops, services } = generation
    const port = await listen().catch((error: NodeJS.ErrnoException) => {
      throw cannotListen(httpAddr, error)
    })

    /** Returns the port. */
    async function listen(): Promise<number> {
      if (loops !== null) {
        await app.listen({ path: loops.mainPath, listenTextResolver: () => 'Listening for other threads' })
        const accept = (socket: Socket): void => void app.server.emit('connection', socket)
        const { masterKey } = options
        const answerCacheBytes = Math.floor(options.answerCacheSize / (options.httpThreads + 1))
        return loops.start({
          ...{ services, statistics: services.queryWatch.statistics, accept, address },
          ...{ masterKey, answerCacheBytes },
        })
      }
      await app.listen({
        ...address,
        listenTextResolver: (at: string) => `Server listening at ${at.replace(/^http:/, `${scheme}:`)}`,
      })
      const { address: bound, port } = app.server.address() as AddressInfo
      await tls?.listenOnAliases(httpAddr.host, port, bound)
      return port
    }
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
      instanceUid: data.instanceUid,
      key,
      rebuilt: 'rebuilt' in replicated.instance ? replicated.instance.rebuilt : null,
    })
    return {
      screen,
      url,
      ended: end.signal,
      nextRole: () => nextRole,
      async stop() {
        await promoting
        const handover = (await generation.replicated.sender?.handOver()) ?? null
        // Interrupting a batch and finishing requests both take time, so they run at the same time.
        const stopped = generation.replicated.instance.queue.stop()
        await closeAll()
        await stopped
        await retiring
        if (handover?.kind !== 'done') return
        await replication?.leaveAsCopy(resolve(options.dbPath)).catch((error: unknown) => {
          log.warn(
            { err: error },
            'the directory is not marked as a copy: the next start finds the new leader',
          )
        })
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

/** Calls to other servers of the bucket. */
function peersOf(closers: (() => Promise<void>)[]): Outbound {
  const peers = openOutbound({ allowedNetworks: 'any' })
  closers.push(() => peers.close())
  return peers
}

/** Threads of the fallback engine that search. */
function searchThreads({ launch: { options, given } }: Pick<ServeRequest, 'launch'>, cores: number): number {
  return given.has('httpThreads') ? options.httpThreads : Math.min(cores, FALLBACK_SEARCH_THREADS)
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
