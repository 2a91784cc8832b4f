/** Starts a server with data in a separate process, and reads its state. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startDaemon, type TestDaemon } from '../../__test__/support/daemon.js'
import {
  type Client,
  clientsOf,
  indexes,
  keyBodies,
  type MadeKey,
  OTHER_OWNERS,
  PRIVATE,
  PROVIDER_SECRET,
} from './clients.js'
import { type HostileProvider, startHostileProvider } from './provider.js'
import type { HostileRequest } from './request.js'
import { type Destination, type Exchange, send } from './send.js'

export type TrialEngine = 'native' | 'fallback'

const MASTER_KEY = 'a-master-key-of-32-bytes-0123456'
const DOCUMENTS = 2_000
/** Milliseconds after which a task counts as stuck. One attempt at a silent provider takes most of this time. */
const TASK_MS_MAX = 60_000

/** Log lines shown per fault. */
const FAULT_LINES = 12

/** Fields of a finished task that the trial reads. */
export interface Task {
  readonly uid: number
  readonly status: string
  readonly type: string
  readonly error: { readonly code: string; readonly message: string } | null
}

const films = new URL('../../../samples/films.ndjson', import.meta.url)

const manyDocuments = (): readonly object[] =>
  Array.from({ length: DOCUMENTS }, (_, id) => ({
    id,
    title: `${['river', 'harbour', 'mountain', 'lighthouse'][id % 4]} ${id}`,
    body: `the ${id % 7 === 0 ? 'quick' : 'slow'} boat number ${id} of ${id % 13} leaves ${OWNERS[id % 2] === 'b' ? OTHER_OWNERS : 'early'}`,
    owner: OWNERS[id % 2],
    n: id % 100,
    tags: [`t${id % 10}`, `u${id % 500}`],
    _geo: { lat: (id % 180) - 90, lng: (id % 360) - 180 },
    _vectors: { mine: [Math.sin(id), Math.cos(id), (id % 10) / 10] },
  }))
const OWNERS = ['a', 'b'] as const

const settings = {
  films: {
    filterableAttributes: ['genres', 'year', 'director'],
    sortableAttributes: ['year', 'rating'],
    embedders: {
      local: {
        source: 'rest',
        url: '{provider}/embed',
        apiKey: PROVIDER_SECRET,
        dimensions: 3,
        documentTemplate: '{{doc.title}}',
        request: '{{text}}',
        response: { embeddings: ['{{embedding}}'] },
      },
    },
  },
  many: {
    filterableAttributes: ['owner', 'n', 'tags', '_geo', 'id'],
    sortableAttributes: ['n', '_geo'],
    embedders: { mine: { source: 'userProvided', dimensions: 3 } },
    // Hits would contain documents that few clients may read.
    foreignKeys: [{ foreignIndexUid: indexes.hidden, fieldName: 'n' }],
  },
  hidden: { filterableAttributes: ['owner'] },
} as const

/** A harmless request got no answer: the server ended or hangs. */
export class UnansweredError extends Error {
  override readonly name = 'UnansweredError'
}

export class Target {
  #clients: readonly Client[] = []
  #madeKeys: readonly MadeKey[] = []
  /** Length of the daemon's log that was already scanned. */
  #logRead = 0

  private constructor(
    readonly engine: TrialEngine,
    readonly httpThreads: number | undefined,
    readonly daemon: TestDaemon,
    readonly provider: HostileProvider,
    readonly directory: string,
    private readonly teardowns: readonly (() => unknown)[],
  ) {}

  /** @param httpThreads threads that answer. Default: the default of the server */
  static async start(engine: TrialEngine, httpThreads?: number): Promise<Target> {
    const directory = await mkdtemp(join(tmpdir(), 'siftd-hostile-'))
    const provider = await startHostileProvider()
    const teardowns: (() => unknown)[] = []
    const isThreaded = engine === 'native' && httpThreads !== undefined && httpThreads > 1
    const given = [
      '--engine',
      engine,
      '--master-key',
      MASTER_KEY,
      '--log-level',
      // The line that says that all threads answer has the level INFO.
      isThreaded ? 'INFO' : 'WARN',
      ...(httpThreads === undefined ? [] : ['--http-threads', String(httpThreads)]),
      // A small cache, because its growth must not count as growth by a request.
      '--cache-size',
      '32MiB',
      '--dump-dir',
      join(directory, 'dumps'),
    ]
    const outgoing = [
      '--experimental-allowed-ip-networks',
      '127.0.0.0/8',
      '--snapshot-dir',
      join(directory, 's'),
    ]
    const teardown = (close: () => unknown): void => void teardowns.push(close)
    const daemon = await startDaemon({ teardown }, join(directory, 'data'), [...given, ...outgoing], {
      // Limits the retries at failing providers, because the queue waits for them.
      SVC_EXPERIMENTAL_REST_EMBEDDER_MAX_RETRY_DURATION_SECONDS: '1',
      SVC_EXPERIMENTAL_REST_EMBEDDER_TIMEOUT_SECONDS: '5',
    })
    // Ends the server when the trial is interrupted.
    const end = (): void => daemon.signal('SIGKILL')
    process.once('exit', end)
    teardown(() => process.removeListener('exit', end))
    while (isThreaded && !daemon.ended() && !daemon.log().includes('threads answer searches')) await pause(20)
    const target = new Target(engine, httpThreads, daemon, provider, directory, teardowns)
    await target.#makeKeys()
    await target.refresh()
    return target
  }

  get clients(): readonly Client[] {
    return this.#clients
  }

  get destination(): Destination {
    return {
      port: this.daemon.port,
      provider: this.provider.url,
      authorization: (name) => this.client(name).authorization,
      answerMsMax: 60_000,
    }
  }

  client(name: string): Client {
    const found = this.#clients.find((one) => one.name === name)
    if (found === undefined) throw new Error(`unknown client ${name}`)
    return found
  }

  send(request: HostileRequest, whileUnread?: () => Promise<void>): Promise<Exchange> {
    return send(request, this.destination, whileUnread)
  }

  /** Sends a harmless request with the master key. */
  async ask(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const { answers, ended } = await this.send({ method, path, ...(text !== undefined && { body: text }) })
    const [answer] = answers
    if (answer === undefined) throw new UnansweredError(`${method} ${path} was not answered: ${ended}`)
    return { status: answer.status, text: answer.body.toString() }
  }

  /** Waits for a task. Cancels it after a timeout. @returns the task, or null after a timeout */
  async settled(uid: number): Promise<Task | null> {
    for (const until = performance.now() + TASK_MS_MAX; performance.now() < until; ) {
      const { status, text } = await this.ask('GET', `/tasks/${uid}`)
      if (status === 404) return { uid, status: 'deleted', type: '', error: null }
      const task = JSON.parse(text) as Task
      if (!['enqueued', 'processing'].includes(task.status)) return task
      await pause(10)
    }
    await this.ask('POST', `/tasks/cancel?uids=${uid}`)
    return null
  }

  /** Resets indexes, settings, documents, keys, features and webhooks to their initial state. */
  async refresh(): Promise<void> {
    await this.ask('POST', '/tasks/cancel?statuses=enqueued,processing')
    await this.#write('PATCH', '/network', { self: null, leader: null, remotes: null, shards: null }, false)
    for (const path of ['/webhooks', '/keys?limit=1000', '/indexes?limit=1000']) await this.#clear(path)
    const { text } = await this.ask('GET', '/experimental-features')
    // The answer lacks a feature that is off.
    const names = [...Object.keys(JSON.parse(text) as object), 'tasksStreamingRoute']
    const features = Object.fromEntries(names.map((name) => [name, name !== 'legacySearch']))
    await this.#write('PATCH', '/experimental-features', features)
    await this.#write('DELETE', '/dynamic-search-rules', undefined, false)
    await this.#write('POST', '/webhooks', { url: '{provider}/hook' })
    const documents = (await readFile(films, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    await this.#write('PATCH', `/indexes/${indexes.films}/settings`, settings.films)
    await this.#write('POST', `/indexes/${indexes.films}/documents?primaryKey=id`, documents)
    await this.#write('PATCH', `/indexes/${indexes.many}/settings`, settings.many)
    await this.#write('POST', `/indexes/${indexes.many}/documents?primaryKey=id`, manyDocuments())
    await this.#write('PATCH', `/indexes/${indexes.hidden}/settings`, settings.hidden)
    const hidden = Array.from({ length: 20 }, (_, id) => ({ id, title: `${PRIVATE} ${id}`, owner: 'a' }))
    await this.#write('POST', `/indexes/${indexes.hidden}/documents?primaryKey=id`, hidden)
    const conditions = { query: { words: 'river' } }
    const pinned = { id: '7', position: 0 }
    await this.#write('PATCH', '/dynamic-search-rules/river', {
      active: true,
      conditions,
      actions: { pin: [pinned] },
    })
    // This server is a remote of itself, with a key that can read more than most clients.
    const searchApiKey = this.#madeKeys.find(({ name }) => name === 'remote')?.key
    const far = { url: `http://127.0.0.1:${this.daemon.port}`, searchApiKey }
    const broken = { url: `${this.provider.url}/deep?` }
    await this.#write('PATCH', '/network', { self: 'near', remotes: { far, broken } })
  }

  /** Returns the state that a refused request must not change. @param depth `queue` suffices to detect any write */
  async state(depth: 'queue' | 'all'): Promise<string> {
    const asked = [
      '/tasks?limit=0',
      '/keys?limit=1000',
      '/experimental-features',
      '/webhooks',
      '/network',
      '/indexes?limit=1000',
    ]
    const uids = Object.values(indexes)
    const rest = uids.flatMap((uid) => [
      `/indexes/${uid}/settings`,
      `/indexes/${uid}/documents?limit=30`,
      `/indexes/${uid}/stats`,
    ])
    const paths = depth === 'queue' ? asked : [...asked, ...rest]
    const answers = await Promise.all(paths.map((path) => this.ask('GET', path)))
    return answers.map(({ status, text }, i) => `${paths[i]} ${status} ${text}`).join('\n')
  }

  /** Returns lines of the daemon's log since the last call that report an internal fault. */
  faults(): readonly string[] {
    const log = this.daemon.log()
    const fresh = log.slice(this.#logRead)
    this.#logRead = log.length
    const lines = fresh.split('\n')
    // The following lines contain the reason.
    return lines.flatMap((line, i) =>
      /panicked|Unhandled|a request failed/.test(line) ? [lines.slice(i, i + FAULT_LINES).join('\n')] : [],
    )
  }

  async stop(): Promise<void> {
    for (const close of this.teardowns) await close()
    this.provider.close()
    await rm(this.directory, { recursive: true, force: true })
  }

  async #makeKeys(): Promise<void> {
    this.#clients = [
      { name: 'master', authorization: `Bearer ${MASTER_KEY}`, actions: ['*'], indexes: ['*'], hidden: [] },
    ]
    const keys: MadeKey[] = []
    for (const body of keyBodies) {
      const { status, text } = await this.ask('POST', '/keys', body)
      if (status !== 201) throw new Error(`could not create a key: ${text}`)
      keys.push(JSON.parse(text) as MadeKey)
    }
    this.#madeKeys = keys
    this.#clients = clientsOf(MASTER_KEY, keys)
  }

  /** Deletes everything that a listing contains, except the keys of the trial. */
  async #clear(path: string): Promise<void> {
    const { results } = JSON.parse((await this.ask('GET', path)).text) as {
      readonly results: readonly Readonly<Record<string, string>>[]
    }
    const ours = new Set(this.#madeKeys.map(({ uid }) => uid))
    const [kind = ''] = path.split('?')
    for (const one of results) {
      const id = one.uuid ?? one.uid ?? ''
      if (ours.has(id) || one.name?.startsWith('Default ')) continue
      await this.#write('DELETE', `${kind}/${id}`, undefined, false)
    }
  }

  /** Sends a write and waits for its task. */
  async #write(method: string, path: string, body?: unknown, mustSucceed = true): Promise<void> {
    const { status, text } = await this.ask(method, path, body)
    const failure = (): Error => new Error(`${method} ${path} failed: ${status} ${text}`)
    if (status >= 400 && mustSucceed) throw failure()
    if (status !== 202) return
    const task = await this.settled((JSON.parse(text) as { readonly taskUid: number }).taskUid)
    if (mustSucceed && task?.status !== 'succeeded') {
      throw new Error(`${method} ${path} failed: ${JSON.stringify(task)}`)
    }
  }
}
