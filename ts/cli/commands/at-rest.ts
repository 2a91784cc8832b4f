/** Access to a data directory without a running server, with the same interface as a server on the network. */
import { resolve } from 'node:path'
import { openAuth } from '../../auth/index.js'
import { buildServer, defaultHttpOptions } from '../../http/index.js'
import { entriesOf, openEmbedding, openFeatures, openInstance, openWebhooks } from '../../instance/index.js'
import {
  LaunchError,
  machine,
  packageVersion,
  parseLaunchOptions,
  userDirectory,
} from '../../launch/index.js'
import type { Outbound } from '../../outbound/index.js'
import { closedUsage, openLogWithOutlets } from '../../telemetry/index.js'

/** Answers calls in this process, without listening on an address. */
export type AtRest = Pick<Outbound, 'call' | 'close'>

/**
 * Opens a data directory.
 * @param setup `processesTasks`: enqueued tasks are processed; default: the queue is not started, for reading only.
 * `isNew`: the directory is empty, and the options of the environment choose its engine
 * @throws LaunchError if the directory holds no data or is in use
 */
export async function openAtRest(
  dbPath: string,
  {
    processesTasks = false,
    isNew = false,
  }: { readonly processesTasks?: boolean; readonly isNew?: boolean } = {},
): Promise<AtRest> {
  const directory = resolve(dbPath)
  const entries = await entriesOf(directory)
  if (!isNew && !entries.includes('tasks'))
    throw new LaunchError(`--db-path: ${directory} holds no data; name the directory of a server`, 2)
  const launch = parseLaunchOptions({
    args: ['--db-path', directory],
    env: process.env,
    readFile: () => null,
    machine: machine(),
  })
  if (launch.kind !== 'run') throw new Error('the arguments do not ask for help')
  const { options } = launch
  const { log, outlets } = openLogWithOutlets({ level: 'OFF', mode: 'HUMAN' })
  const version = packageVersion()
  const embedding = openEmbedding({ options, version, cores: machine().cores, log })
  const { outbound, embedders, rerankers } = embedding
  const { opened, queue, faults, close } = await openInstance({
    directory,
    version,
    upgrade: false,
    rebuildTaskStore: false,
    userDirectory: userDirectory(process.env),
    engine: isNew ? options.engine : 'auto',
    indexingMemoryBytes: options.maxIndexingMemory,
    indexingThreads: 1,
    batch: { tasksMax: null, payloadBytesMax: null },
    log,
    embedders,
    rerankers,
  })
  const webhooks = await openWebhooks({ store: queue.webhooks, outbound, launch: null, log })
  const app = buildServer({
    engine: opened.engine,
    answers: opened.answers,
    tasks: queue.tasks,
    settingsThread: queue.settingsThread,
    instance: queue.instance,
    webhooks,
    outbound,
    embedders,
    rerankers,
    auth: await openAuth({ masterKey: null, store: queue.instance }),
    features: await openFeatures(queue.instance),
    options: defaultHttpOptions,
    log,
    faults,
    usage: closedUsage,
    outlets,
    version: { commitSha: 'unknown', commitDate: 'unknown', pkgVersion: version },
  })
  if (processesTasks) queue.start()
  return {
    async call({ method, url, headers = {}, body, signal }) {
      const { pathname, search } = new URL(url)
      if (typeof body === 'function') throw new Error('a directory at rest can only be read')
      signal?.throwIfAborted()
      // `inject` never removes its listener, so it gets a signal of its own.
      const stop = new AbortController()
      const abort = (): void => stop.abort(signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      try {
        const {
          statusCode,
          headers: answered,
          rawPayload,
        } = await app.inject({
          method,
          url: `${pathname}${search}`,
          headers: { ...headers },
          ...(body !== undefined && { payload: typeof body === 'string' ? body : Buffer.from(body) }),
          signal: stop.signal,
        })
        return { status: statusCode, headers: textHeaders(answered), body: rawPayload }
      } finally {
        signal?.removeEventListener('abort', abort)
      }
    },
    async close() {
      await app.close()
      await webhooks.close()
      await embedding.close()
      await close()
    },
  }
}

const textHeaders = (
  headers: Readonly<Record<string, string | readonly string[] | number | undefined>>,
): Readonly<Record<string, string | readonly string[] | undefined>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'number' ? `${value}` : value]),
  )
