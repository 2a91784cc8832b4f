import { ApiError } from '../errors/index.js'
import {
  openEmbedding,
  openFeaturesOf,
  openInstance,
  openReadOnlyInstance,
  openWebhooks,
} from '../instance/index.js'
import {
  type LaunchOptions,
  machine,
  packageVersion,
  parseLaunchOptions,
  userDirectory,
} from '../launch/index.js'
import {
  DisconnectSignal,
  everyRight,
  exportBody,
  exportContent,
  featuresBody,
  JsonText,
  localSearches,
  mergingOf,
  multiSearchBody,
  type PositionedQuery,
  readBody,
  requireFederable,
  requirePlain,
  requireTaskFilter,
  sentFeatures,
  shape,
  swapContent,
  swapsBody,
  taskFilter,
  taskFilters,
  taskListFields,
} from '../operations/index.js'
import type { BatchView, Page, Task, TaskContent, TaskSummary, TaskType } from '../tasks/index.js'
import { moduleLog, openLog } from '../telemetry/index.js'
import { exporterOver } from '../transfer/index.js'
import { Calls } from './calls.js'
import { ClosedError, TaskTimeoutError } from './errors.js'
import { jsonBytes, parsed } from './json.js'
import { openIndex } from './open-index.js'
import { requirePlace, withDefaults } from './options.js'
import { indexWrites, instanceWrites, refusingWrites } from './read-only.js'
import type { Index, OpenOptions, Siftd } from './types.js'

const filterBody = shape(taskFilters)
const listBody = shape(taskListFields)

/**
 * Opens a data directory inside this process: with the same files, tasks and answers as the server.
 *
 * ```ts
 * const siftd = await open({ directory: './data.ms' })
 * const films = siftd.index('films')
 * const { taskUid } = await films.addDocuments([{ id: 1, title: 'Solaris' }])
 * await siftd.waitForTask(taskUid)
 * const { hits } = await films.search('solar')
 * await siftd.close()
 * ```
 *
 * @throws LaunchError if the directory cannot be opened; its `code` says why
 */
export async function open({ keepAlive = false, ...options }: OpenOptions): Promise<Siftd> {
  const calls = new Calls(keepAlive)
  try {
    return await calls.hold(() => openWith(calls, options))
  } catch (error) {
    await calls.close(async () => undefined)
    throw error
  }
}

async function openWith(
  calls: Calls,
  {
    directory,
    engine = 'auto',
    rebuildTaskStore = false,
    logLevel = 'WARN',
    readOnly = false,
    ...given
  }: Omit<OpenOptions, 'keepAlive'>,
): Promise<Siftd> {
  requirePlace(directory, engine)
  const options = withDefaults(given, defaultOptions())
  const log = openLog({ level: logLevel, mode: 'HUMAN' })
  const version = packageVersion()
  const { cores } = machine()
  const embedding = openEmbedding({ options, version, cores, log })
  const { outbound, embedders, rerankers } = embedding
  const instance = await (readOnly ? openReadOnlyInstance : openInstance)({
    directory,
    version,
    upgrade: options.upgradeDb,
    rebuildTaskStore,
    userDirectory: userDirectory(process.env),
    engine,
    indexingMemoryBytes: options.maxIndexingMemory,
    // Leave the other cores to the program while a batch is indexed.
    indexingThreads: options.maxIndexingThreads ?? 1,
    cacheBytes: options.cacheSize,
    answerCacheBytes: options.answerCacheSize,
    batch: {
      tasksMax: options.experimentalMaxNumberOfBatchedTasks,
      payloadBytesMax: options.experimentalLimitBatchedTasksTotalSize,
    },
    exportIndex: exporterOver(outbound, options.httpPayloadSizeLimit),
    dumpDirectory: options.dumpDir,
    snapshots: { directory: options.snapshotDir, keptMax: options.snapshotsKept },
    embedders,
    rerankers,
    log,
  }).catch(async (error: unknown) => {
    await embedding.close()
    throw error
  })
  const { opened, queue } = instance
  const { tasks } = queue
  const { taskWebhookUrl, taskWebhookAuthorizationHeader } = options
  const webhooks = await openWebhooks({
    store: queue.webhooks,
    outbound,
    launch:
      taskWebhookUrl === null ? null : { url: taskWebhookUrl, authorization: taskWebhookAuthorizationHeader },
    log: moduleLog(log, 'webhooks'),
  })
  const features = await openFeaturesOf(queue.instance, options)
  const { engine: searched, answers } = opened
  const services = {
    engine: searched,
    ...{ answers, embedders, rerankers, tasks, features, queries: { timesStages: false } },
  }
  if (!readOnly) queue.start()
  searched.warmUp?.()
  const checked = <T extends object>(target: T, writes: Readonly<Record<string, boolean>>): T =>
    readOnly ? refusingWrites(target, writes) : target

  /** Stores a task that concerns no single index. */
  const enqueue = (type: TaskType, content: TaskContent): Promise<TaskSummary> =>
    tasks.enqueue({ indexUid: null, type, content })

  /**
   * Returns the tasks that a filter matches now, and its text for the details of the new task.
   * @throws ApiError `missing_task_filters`, or the code of a filter
   */
  const matched = async (filter: object = {}) => {
    const wanted = readBody(jsonBytes(filter), filterBody)
    const given = Object.entries(wanted).filter(([, value]) => value !== null)
    requireTaskFilter(Object.fromEntries(given), 'all five `statuses` mean all tasks')
    return { query: JSON.stringify(filter), tasks: await tasks.match(taskFilter(wanted, null)) }
  }

  const multiSearch = async (request: object): Promise<unknown> => {
    const { queries, federation } = readBody(jsonBytes(request), multiSearchBody)
    const positioned = queries.map((query, position): PositionedQuery => ({ query, position }))
    const stop = new DisconnectSignal()
    const local = localSearches(services, {
      access: everyRight,
      includeMetadata: false,
      progress: { answered: () => undefined },
    })
    if (federation === null) {
      for (const one of positioned) requirePlain(one)
      return parsed(await local.answer(positioned, null, stop))
    }
    for (const one of positioned) {
      requireFederable(one, federation, features)
      if ((one.query.federationOptions?.remote ?? null) !== null)
        throw new ApiError('invalid_multi_search_remote', 'remotes cannot be searched in process')
    }
    await local.requireFederation(positioned, federation, new Set())
    return parsed(await local.answer(positioned, mergingOf(federation, positioned, false), stop))
  }

  const close = (): Promise<void> =>
    calls.close(async () => {
      await webhooks.close()
      await instance.close()
      await embedding.close()
    })

  const siftd: Omit<Siftd, 'close' | typeof Symbol.asyncDispose> = {
    engine: opened.kind,
    index: <T extends object>(uid: string) =>
      // The engine returns documents as they were sent; nothing checks that they are of type `T`.
      calls.guard(checked(openIndex(services, queue, uid), indexWrites)) as unknown as Index<T>,
    indexes: () => tasks.indexes(),
    multiSearch: multiSearch as Siftd['multiSearch'],
    async tasks(options = {}) {
      const wanted = readBody(jsonBytes(options), listBody)
      const page: Page<Task> = await tasks.list(taskFilter(wanted, null), wanted)
      return { ...page, results: page.results.map(withParsedDetails) }
    },
    async task(taskUid) {
      const task = await tasks.get(taskUid, null)
      return task === null ? null : withParsedDetails(task)
    },
    async cancelTasks(filter) {
      return enqueue('taskCancelation', { kind: 'taskCancelation', ...(await matched(filter)) })
    },
    async deleteTasks(filter) {
      return enqueue('taskDeletion', { kind: 'taskDeletion', ...(await matched(filter)) })
    },
    async batches(options = {}) {
      const wanted = readBody(jsonBytes(options), listBody)
      const page: Page<BatchView> = await tasks.batches(taskFilter(wanted, null), wanted)
      return { ...page, results: page.results.map(withParsedDetails) }
    },
    async batch(batchUid) {
      const batch = await tasks.batch(batchUid, null)
      return batch === null ? null : withParsedDetails(batch)
    },
    async swapIndexes(swaps) {
      const content = swapContent(readBody(jsonBytes(swaps), swapsBody), () => undefined)
      return enqueue('indexSwap', content)
    },
    async export(request) {
      const body = readBody(jsonBytes(request), exportBody)
      return enqueue('export', exportContent(body, { features, withSecrets: true }))
    },
    async waitForTask(taskUid, { timeoutMs = Number.POSITIVE_INFINITY } = {}) {
      // No task ends in a directory that is open read-only.
      const task = await tasks.wait(taskUid, null, { waitMs: readOnly ? 0 : timeoutMs })
      if (task === null) throw new ApiError('task_not_found', `task \`${taskUid}\` not found`)
      if (task.finishedAt === null)
        throw calls.isClosed ? new ClosedError('waitForTask') : new TaskTimeoutError(taskUid, task.status)
      return withParsedDetails(task)
    },
    onTaskChange: (listener) => tasks.onChange(listener),
    createDump: () => enqueue('dumpCreation', { kind: 'dumpCreation' }),
    createSnapshot: () => enqueue('snapshotCreation', { kind: 'snapshotCreation' }),
    features: () => features.flags,
    updateFeatures: async (changes) =>
      features.patch(sentFeatures(readBody(jsonBytes(changes), featuresBody))),
  }
  return {
    ...calls.guard(checked(siftd, instanceWrites), ['index', 'indexes', 'features', 'onTaskChange']),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Returns the default options of the server. */
function defaultOptions(): LaunchOptions {
  const launch = parseLaunchOptions({ args: [], env: {}, readFile: () => null, machine: machine() })
  if (launch.kind !== 'run') throw new Error('parsing empty arguments did not return options')
  return launch.options
}

/** Returns a task or batch with its details as an object. Long details are stored as JSON text. */
function withParsedDetails<T extends Pick<Task | BatchView, 'details'>>(one: T): T {
  const { details } = one
  if (!(details instanceof JsonText)) return one
  return { ...one, details: JSON.parse(details.json) as Readonly<Record<string, unknown>> }
}
