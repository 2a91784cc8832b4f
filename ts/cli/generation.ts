import type { RequestListener, Server } from 'node:http'
import { join } from 'node:path'
import { openAuth } from '../auth/index.js'
import {
  buildServer,
  type Cells,
  copyKeys,
  type HttpLoops,
  type HttpOptions,
  QueryHistory,
  QueryWatch,
  type Services,
} from '../http/index.js'
import {
  AnalysisWatch,
  type Embedding,
  type LaunchWebhook,
  openFeaturesOf,
  openWebhooks,
} from '../instance/index.js'
import { type Build, type LaunchOptions, type Run, withoutEffect } from '../launch/index.js'
import type { Outbound } from '../outbound/index.js'
import type { ReplicatedInstance } from '../replication/index.js'
import { type Logger, type LogOutlets, moduleLog } from '../telemetry/index.js'
import { loopsOf, shareOf } from './http-loops.js'
import { scheduleSnapshots } from './snapshot-schedule.js'
import type { Telemetry } from './telemetry.js'
import type { Tracing } from './tracing.js'

export interface GenerationSetup {
  readonly options: LaunchOptions
  readonly http: HttpOptions
  readonly launch: Run
  readonly version: string
  readonly build: Build
  readonly log: Logger
  readonly outlets: LogOutlets
  readonly embedding: Pick<Embedding, 'outbound' | 'embedders' | 'rerankers'>
  readonly tracing: Tracing
  readonly telemetry: Telemetry
  /** Code that only servers with a bucket load; null: no bucket. */
  readonly replication: typeof import('../replication/index.js') | null
  readonly createServer: ((handler: RequestListener) => Server) | null
  /** Calls other servers of the bucket; null: no bucket. */
  readonly peers: Outbound | null
  /** null: no other cell has indexes. */
  readonly cells: Cells | null
  /** Aborts the opening. */
  readonly signal: AbortSignal
}

/** An open instance with its HTTP application. A server whose follower becomes the leader has a second one. */
interface Generation {
  readonly replicated: ReplicatedInstance
  readonly app: ReturnType<typeof buildServer>
  readonly services: Services & { readonly queryWatch: QueryWatch }
  /** Threads that answer searches, not started; null: the main thread answers everything. */
  readonly loops: HttpLoops | null
  /** Accepts writes and runs tasks. */
  start(): void
  /** Closes everything but the application. */
  close(): Promise<void>
}

/** Builds the services and the application of an instance. If this fails, it closes the instance. */
export async function openGeneration(
  setup: GenerationSetup,
  replicated: ReplicatedInstance,
): Promise<Generation> {
  const { options, log, version, replication, telemetry, tracing, signal } = setup
  const { outbound, embedders, rerankers } = setup.embedding
  const { sender, follower } = replicated
  const { data, opened, queue, faults } = replicated.instance
  const closers: (() => Promise<void>)[] = [() => replicated.instance.close()]
  const close = async (): Promise<void> => {
    for (const closeOne of closers.splice(0).reverse()) await closeOne()
  }
  try {
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
    for (const remark of [...setup.launch.remarks, ...withoutEffect(setup.launch.given, opened.kind)])
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
    const instance = {
      ...{ engine: opened.engine, tasks: queue.tasks, features },
      ...{ run: setup.launch, directory: data.path },
    }
    const { instanceUid, isFirstStart } = data
    closers.push(await telemetry.start({ instance, instanceUid, isFirstStart, version, log }))
    const loops = loopsOf({
      ...{ options, log, isGiven: setup.launch.given.has('httpThreads') },
      isShared: opened.engine.publish !== undefined,
    })
    const history = setup.http.queryStats
      ? new QueryHistory({
          ...{ folder: join(data.path, 'query-stats'), isHashed: setup.http.hashQueryText },
          log: moduleLog(log, 'queries'),
        })
      : null
    if (history !== null) closers.push(() => history.close())
    const queryWatch = new QueryWatch(setup.http, moduleLog(log, 'queries'), history)
    const analysis = new AnalysisWatch({
      ...{ engine: opened.engine, tasks: writes.tasks, log: moduleLog(log, 'instance') },
      reindexes: options.reindexOnUpgrade && follower === null,
    })
    closers.push(async () => analysis.stop())
    const services = {
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
      options: loops === null ? setup.http : shareOf(setup.http, options.httpThreads + 1),
      log: moduleLog(log, 'http'),
      faults,
      usage: telemetry.usage,
      outlets: setup.outlets,
      version: { ...setup.build, pkgVersion: version },
      replicated: (setup.peers && replication?.replicatedBy(replicated, options, setup.peers)) ?? null,
      createServer: setup.createServer,
      cells: setup.cells,
      ...{ queryWatch, loops, analysis },
    }
    const app = buildServer(services)
    signal.throwIfAborted()
    return {
      ...{ replicated, app, services, loops, close },
      start() {
        isServing = true
        queue.start()
        opened.engine.warmUp?.()
        void analysis.start()
        if (setup.cells !== null && options.masterKey !== null && follower === null)
          closers.push(copyKeys(services.auth.keys, setup.cells, moduleLog(log, 'http')))
        if (options.scheduleSnapshot === null || follower !== null) return
        const end = scheduleSnapshots(queue.tasks, options.scheduleSnapshot, log)
        closers.push(() => Promise.resolve(end()))
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

function launchWebhook({
  taskWebhookUrl,
  taskWebhookAuthorizationHeader,
}: LaunchOptions): LaunchWebhook | null {
  return taskWebhookUrl === null
    ? null
    : { url: taskWebhookUrl, authorization: taskWebhookAuthorizationHeader }
}
