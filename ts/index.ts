/** Here is a directory, may I search it without a server? The same engine and queue, inside this process. */

import { createWriteStream } from 'node:fs'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import { encodeRequest } from './engine/index.js'
import { ApiError, clientMessages } from './errors/index.js'
import { type Features, type Instance, openFeatures, openInstance } from './instance/index.js'
import { machine, packageVersion, parseLaunchOptions, userDirectory } from './launch/index.js'
import { defaultJsonLimits, JsonText } from './parse/index.js'
import { followedKeys, isIndexUid, readSearch, type SearchRights } from './requests/index.js'
import { parsedSettings, renderSettings } from './settings/index.js'
import type { IndexEntry, Task, TaskContent, TaskSummary, TaskType } from './tasks/index.js'
import { openLog } from './telemetry/index.js'

export { ApiError, type ErrorCode } from './errors/index.js'
export type { Task, TaskSummary } from './tasks/index.js'

/** A document: any JSON object with a primary key. */
export type Document = Readonly<Record<string, unknown>>

export interface OpenOptions {
  /** Data directory, created when absent; one process at a time. The server's own may be used while it is down. */
  readonly directory: string
  /** Default `auto`: native where its binary loads. */
  readonly engine?: 'auto' | 'native' | 'fallback'
  /** Makes a new task store from the indexes if the old one is damaged or incomplete; the history of tasks is lost. */
  readonly rebuildTaskStore?: boolean
  /** Default `WARN`, on stderr. */
  readonly logLevel?: 'OFF' | 'ERROR' | 'WARN' | 'INFO' | 'DEBUG' | 'TRACE'
}

export interface AddOptions {
  /** Field that identifies documents; guessed from the first ones when absent. */
  readonly primaryKey?: string
}

/** The answer of a search, as the HTTP API gives it. */
export interface SearchAnswer {
  readonly hits: readonly Document[]
  readonly query: string
  readonly processingTimeMs: number
  readonly estimatedTotalHits?: number
  readonly totalHits?: number
  readonly [key: string]: unknown
}

/** One index. It comes into being with its first write. Writes return a task; see `Siftd.waitForTask`. */
export interface Index {
  readonly uid: string
  /** Adds documents, replacing those with the same id. */
  addDocuments(
    documents: Iterable<Document> | AsyncIterable<Document>,
    options?: AddOptions,
  ): Promise<TaskSummary>
  /** Merges top-level fields into the documents with the same id, adding what is new. */
  updateDocuments(
    documents: Iterable<Document> | AsyncIterable<Document>,
    options?: AddOptions,
  ): Promise<TaskSummary>
  deleteDocuments(ids: readonly (string | number)[]): Promise<TaskSummary>
  /** null if there is none. */
  document(id: string | number): Promise<Document | null>
  /** @param parameters as the body of POST /search, without `q` */
  search(q: string | null, parameters?: Readonly<Record<string, unknown>>): Promise<SearchAnswer>
  /** @param patch as the body of PATCH /settings */
  updateSettings(patch: Readonly<Record<string, unknown>>): Promise<TaskSummary>
  settings(): Promise<Readonly<Record<string, unknown>>>
  /** Deletes the index. */
  delete(): Promise<TaskSummary>
}

/** An opened data directory. Every method rejects with `ApiError` for a mistake of the caller. */
export interface Siftd {
  readonly engine: 'native' | 'fallback'
  index(uid: string): Index
  indexes(): readonly IndexEntry[]
  /**
   * Resolves once the task has ended, however it did: look at its `status` and `error`.
   * Rejects with `task_not_found`, or with a plain error after `timeoutMs` (default: no limit) and when the
   * directory is closed.
   */
  waitForTask(taskUid: number, options?: { readonly timeoutMs?: number }): Promise<Task>
  /** Ends the batch under way and closes everything. */
  close(): Promise<void>
}

/**
 * Opens a data directory inside this process: same files, tasks and answers as the server's.
 *
 * ```ts
 * const siftd = await open({ directory: './data.ms' })
 * const films = siftd.index('films')
 * const { taskUid } = await films.addDocuments([{ id: 1, title: 'Solaris' }])
 * await siftd.waitForTask(taskUid)
 * const { hits } = await films.search('solar')
 * await siftd.close()
 * ```
 */
export async function open(options: OpenOptions): Promise<Siftd> {
  const launch = parseLaunchOptions({ args: [], env: {}, readFile: () => null, machine: machine() })
  if (launch.kind !== 'run') throw new Error('no arguments ask for help')
  const { options: defaults } = launch
  const instance = await openInstance({
    directory: options.directory,
    version: packageVersion(),
    upgrade: false,
    rebuildTaskStore: options.rebuildTaskStore ?? false,
    userDirectory: userDirectory(process.env),
    engine: options.engine ?? 'auto',
    indexingMemoryBytes: defaults.maxIndexingMemory,
    indexingThreads: defaults.maxIndexingThreads ?? 1,
    cacheBytes: defaults.cacheSize,
    answerCacheBytes: defaults.answerCacheSize,
    batch: { tasksMax: null, payloadBytesMax: defaults.experimentalLimitBatchedTasksTotalSize },
    log: openLog({ level: options.logLevel ?? 'WARN', mode: 'HUMAN' }),
  })
  const features = await openFeatures(instance.queue.instance)
  const { tasks } = instance.queue
  instance.queue.start()
  return {
    engine: instance.opened.kind,
    index: (uid) => index(instance, features, uid),
    indexes: () => tasks.indexes(),
    async waitForTask(taskUid, { timeoutMs = Number.POSITIVE_INFINITY } = {}) {
      const task = await tasks.wait(taskUid, null, { waitMs: timeoutMs })
      if (task === null) throw new ApiError('task_not_found', `task \`${taskUid}\` not found`)
      if (task.finishedAt === null) throw new Error(`task ${taskUid} is still ${task.status}`)
      return { ...task, ...(task.details && { details: whole(task.details) }) }
    },
    close: () => instance.close(),
  }
}

function index(instance: Instance, features: Features, uid: string): Index {
  if (!isIndexUid(uid)) {
    const rule = 'letters, digits, `-` and `_`, at most 400'
    throw new ApiError('invalid_index_uid', `\`${uid}\` is not a valid index uid: ${rule}`)
  }
  const { tasks, settingsThread } = instance.queue
  const { engine, answers } = instance.opened
  const enqueue = (type: TaskType, content: TaskContent): Promise<TaskSummary> =>
    tasks.enqueue({ indexUid: uid, type, content })
  const entry = (): IndexEntry => {
    const found = tasks.index(uid)
    if (found === null) throw new ApiError('index_not_found', clientMessages.indexNotFound(uid))
    return found
  }

  async function add(
    documents: Iterable<Document> | AsyncIterable<Document>,
    method: 'replace' | 'update',
    { primaryKey = null }: { readonly primaryKey?: string | null } = {},
  ): Promise<TaskSummary> {
    const slot = await tasks.spool('ndjson')
    let content: TaskContent
    try {
      let [payloadBytes, checksum] = [0, 0]
      async function* lines(): AsyncGenerator<Buffer> {
        for await (const document of documents) {
          const line = Buffer.from(`${JSON.stringify(document)}\n`)
          payloadBytes += line.length
          checksum = crc32(line, checksum)
          yield line
        }
      }
      await pipeline(Readable.from(lines()), createWriteStream(slot.path, { flags: 'wx' }))
      const payload = { path: slot.path, format: 'ndjson' } as const
      const { documents: receivedDocuments, error } = await engine.inspect(payload)
      if (error !== undefined) throw new ApiError(error.code, error.message)
      await slot.sync()
      content = {
        kind: 'documents',
        method,
        payload: { ...payload, path: basename(slot.path), checksum },
        payloadBytes,
        receivedDocuments,
        primaryKey,
        skipCreation: false,
        mayCreateIndex: true,
      }
    } catch (error) {
      await slot.discard()
      throw error
    }
    // From here on the upload is the queue's, which knows whether a task may still need it.
    return enqueue('documentAdditionOrUpdate', content)
  }

  return {
    uid,
    addDocuments: (documents, options) => add(documents, 'replace', options),
    updateDocuments: (documents, options) => add(documents, 'update', options),
    deleteDocuments: (ids) => enqueue('documentDeletion', { kind: 'deleteByIds', ids: ids.map(String) }),
    async document(id) {
      const request = encodeRequest({ id: String(id), fields: null, retrieveVectors: false })
      const found = await engine.document(entry().id, request)
      return found === null ? null : (parsed(found) as Document)
    },
    async search(q, parameters = {}) {
      const rules = tasks.rules()
      const found = entry()
      const { foreignKeys } = await followedKeys({ engine, tasks, features }, found, everyRight)
      const context = {
        entry: found,
        features,
        forcedFilter: null,
        includeMetadata: false,
        rules,
        ...(foreignKeys && { foreignKeys }),
      }
      const request = readSearch(bytes({ ...parameters, q }), context)
      const { body } = await answers.search(context.entry.id, request)
      return parsed(body) as SearchAnswer
    },
    async updateSettings(patch) {
      const request = { name: null, limits: defaultJsonLimits, features: features.flags }
      const { update } = await settingsThread.read(bytes(patch), request)
      return enqueue('settingsUpdate', { kind: 'settings', ...update, isReset: false, mayCreateIndex: true })
    },
    settings: async () => renderSettings(parsedSettings(await engine.settings(entry().id)), features.flags),
    delete: () => enqueue('indexDeletion', { kind: 'indexDeletion' }),
  }
}

/** The process may read all of its indexes. */
const everyRight: SearchRights = {
  maySearch: () => true,
  forcedFilter: () => null,
}

/** Details as an object, however long they are. */
const whole = (details: Document): Document =>
  details instanceof JsonText ? (JSON.parse(details.json) as Document) : details

const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))
const parsed = (body: Uint8Array): unknown => JSON.parse(Buffer.from(body).toString())
