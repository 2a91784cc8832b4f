/** Reads a server's answers about its data as separate facts, for comparison. */
import type { ServerProcess } from '../../__test__/support/server-process.js'
import { indexUids, settled } from './world.js'

export interface Fact {
  /** HTTP status. */
  readonly status: number
  /** Error code of the answer or of the task. */
  readonly code: string | null
  /** The answer as JSON, without fields that differ between two runs. */
  readonly value: string
  /** Uid of the index that the fact is about; null for the instance. */
  readonly index: string | null
}

/** Name → fact. */
export type Facts = ReadonlyMap<string, Fact>

type Json = Readonly<Record<string, unknown>>

/** Fields that differ between two runs over the same data. */
const volatileFields = new Set([
  'processingTimeMs',
  'requestUid',
  'databaseSize',
  'usedDatabaseSize',
  'rawDocumentDbSize',
  'indexSize',
  'usedIndexSize',
  'avgDocumentSize',
])
/** Fields of a task, apart from dates, that differ if it ends in another run. */
const taskFieldsOfRun = new Set(['duration', 'batchUid'])
/** Timeout for the waiting tasks. */
const TASKS_MS_MAX = 30_000

/** The parts of a world to ask the server about. */
export interface Questions {
  readonly indexes: readonly string[]
  /** When the world was completed, in the API's date format. */
  readonly builtAt: string
  /** Tasks and batches that had ended by then. */
  readonly finishedTasks: ReadonlySet<number>
  readonly finishedBatches: ReadonlySet<number>
  /** A search key of the instance. */
  readonly searchKey: string
}

/** Reads the parts of a world from a server whose task queue is paused. */
export async function questionsOf(server: ServerProcess): Promise<Questions> {
  const finished = 'statuses=succeeded,failed,canceled&limit=1000'
  const uids = async (path: string) => {
    const { body } = await server.call('GET', path)
    return new Set((body as { results: { uid: number }[] }).results.map(({ uid }) => uid))
  }
  const { body } = await server.call('GET', '/keys?limit=100')
  const keys = (body as { results: { key: string; indexes: string[] }[] }).results
  return {
    indexes: indexUids,
    builtAt: new Date().toISOString(),
    finishedTasks: await uids(`/tasks?${finished}`),
    finishedBatches: await uids(`/batches?${finished}`),
    searchKey: keys.find(({ indexes }) => indexes.includes('films'))?.key ?? '',
  }
}

/**
 * Waits for the waiting tasks, reads everything, then adds a document to every index.
 * @throws if an answer times out
 */
export async function factsOf(server: ServerProcess, questions: Questions): Promise<Facts> {
  await settled(server, TASKS_MS_MAX)
  const facts = new Map(await readFacts(server, questions))
  const put = putterInto(facts, questions)
  await Promise.all(questions.indexes.map((index) => askWrite(server, index, put)))
  return facts
}

/** Reads everything and changes nothing. @throws if an answer times out */
export async function readFacts(server: ServerProcess, questions: Questions): Promise<Facts> {
  const facts = new Map<string, Fact>()
  const put = putterInto(facts, questions)
  await askInstance(server, questions, put)
  for (const index of questions.indexes) await askIndex(server, index, put)
  return facts
}

const putterInto =
  (facts: Map<string, Fact>, { builtAt }: Questions): Put =>
  (name, index, answer, { status = 200, code = null } = {}) => {
    facts.set(name, { status, code, value: JSON.stringify(comparable(answer, builtAt)), index })
  }

type Put = (name: string, index: string | null, value: unknown, more?: Partial<Fact>) => void

async function askInstance(
  server: ServerProcess,
  { finishedTasks, finishedBatches, searchKey }: Questions,
  put: Put,
): Promise<void> {
  const list = async (name: string, path: string, each: (entry: Json) => void) => {
    const { status, body } = await server.call('GET', path)
    const { results, total } = body as { results?: readonly Json[]; total?: number }
    put(name, null, total ?? null, { status, code: codeIn(body) })
    for (const entry of results ?? []) each(entry)
  }
  await list('the list of indexes', '/indexes?limit=100', (entry) =>
    put(`index ${entry.uid}`, String(entry.uid), entry, { code: codeIn(entry) }),
  )
  await list('the list of tasks', '/tasks?limit=1000', (entry) => {
    const { uid, indexUid } = entry as { uid: number; indexUid: string | null }
    const waited = !finishedTasks.has(uid)
    const code = waited ? codeIn(entry.error) : null
    put(`task ${uid}`, indexUid, waited ? without(entry, taskFieldsOfRun) : entry, { code })
  })
  const { body: batches } = await server.call('GET', '/batches?limit=1000')
  for (const entry of (batches as { results?: readonly Json[] }).results ?? []) {
    if (finishedBatches.has(entry.uid as number)) put(`batch ${entry.uid}`, null, entry)
  }
  await list('the list of keys', '/keys?limit=100', (entry) => put(`key ${entry.uid}`, null, entry))
  for (const path of ['/webhooks', '/experimental-features', '/dynamic-search-rules/pinned']) {
    const { status, body } = await server.call('GET', path)
    put(path, null, body, { status, code: codeIn(body) })
  }
  const { status, body } = await server.call('GET', '/stats')
  put('/stats', null, null, { status, code: codeIn(body) })
  for (const [uid, stats] of Object.entries((body as { indexes?: Json }).indexes ?? {})) {
    put(`stats of ${uid}`, uid, stats, { code: codeIn(stats) })
  }
  const found = await server.call('POST', '/indexes/films/search', { q: 'ember' }, { key: searchKey })
  put('a search of films by its key', 'films', found.body, { status: found.status, code: codeIn(found.body) })
}

async function askIndex(server: ServerProcess, index: string, put: Put): Promise<void> {
  const ask = async (name: string, method: string, path: string, sent?: unknown) => {
    const { status, body } = await server.call(method, `/indexes/${index}${path}`, sent)
    put(`${name} of ${index}`, index, body, { status, code: codeIn(body) })
  }
  await ask('description', 'GET', '')
  await ask('settings', 'GET', '/settings')
  await ask('documents', 'POST', '/documents/fetch', { limit: 10_000, retrieveVectors: true })
  await ask('a search for nothing', 'POST', '/search', { limit: 50 })
  await ask('a search with typos', 'POST', '/search', { q: 'lantren harbuor', showRankingScore: true })
  const own = ownSearches[index]
  if (own !== undefined) await ask('its own search', 'POST', '/search', own)
}

/** Searches that use settings of this index. */
const ownSearches: Readonly<Record<string, unknown>> = {
  films: { q: 'lamp', filter: 'year > 1960', sort: ['year:desc'], facets: ['genres', 'year'] },
  sky: { vector: [0.1, 0.9, 0.2, 0.4, 0.5, 0.1, 0.7, 0.3], hybrid: { embedder: 'sight', semanticRatio: 1 } },
  books: { filter: 'motto = lantern', facets: ['motto'] },
  coast: { filter: '_geoRadius(45, 90, 5000000)', sort: ['_geoPoint(45, 90):asc'] },
  many: { q: 'velvet 77', limit: 30, matchingStrategy: 'all' },
}

/** Adds one document and records by how many documents the index grew. */
async function askWrite(server: ServerProcess, index: string, put: Put): Promise<void> {
  const count = async () => {
    const { status, body } = await server.call('GET', `/indexes/${index}/stats`)
    return status === 200 ? (body as { numberOfDocuments: number }).numberOfDocuments : null
  }
  const name = `a write to ${index}`
  const before = await count()
  // An index with a user-provided embedder accepts a document without vectors only with an explicit null.
  const document = { id: 'added-after', ...(index === 'sky' && { _vectors: { sight: null } }) }
  const { status, body } = await server.call('POST', `/indexes/${index}/documents`, [document])
  if (status !== 202) return put(name, index, null, { status, code: codeIn(body) })
  await settled(server, TASKS_MS_MAX)
  const { taskUid } = body as { taskUid: number }
  const task = (await server.call('GET', `/tasks/${taskUid}`)).body as Json
  const code = task.status === 'succeeded' ? null : (codeIn(task.error) ?? String(task.status))
  const after = await count()
  const grewBy = after === null || before === null ? null : after - before
  put(name, index, { grewBy }, { status, code })
}

/** Removes fields that differ between two runs over the same data, and replaces dates of the run. */
function comparable(value: unknown, builtAt: string): unknown {
  if (typeof value === 'string') return isDate.test(value) && value > builtAt ? '[later]' : value
  if (Array.isArray(value)) return value.map((entry) => comparable(entry, builtAt))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !volatileFields.has(name))
      .map(([name, inner]) => [name, comparable(inner, builtAt)]),
  )
}

const isDate = /^\d{4}-\d\d-\d\dT/

const without = (entry: Json, names: ReadonlySet<string>): Json =>
  Object.fromEntries(Object.entries(entry).filter(([name]) => !names.has(name)))

/** Returns the code of an error, or of an answer that describes a damaged index. */
function codeIn(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null
  if ('code' in body && typeof body.code === 'string') return body.code
  return 'damage' in body && typeof body.damage === 'string' ? 'index_damaged' : null
}
