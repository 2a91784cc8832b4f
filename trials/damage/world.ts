/** Builds a data directory with all kinds of data, using a real server. */
import { cp, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { numbers } from '../../__test__/support/numbers.js'
import { ServerProcess } from '../../__test__/support/server-process.js'

/** How the server that wrote a directory ended. */
export type Ending = 'stopped' | 'killed'

export interface World {
  readonly engine: string
  /** The directory after each ending, with waiting tasks. */
  readonly directories: Readonly<Record<Ending, string>>
  /** Earlier states of the directory, oldest first. */
  readonly history: readonly string[]
}

/** Uids of the indexes, in order of creation. */
export const indexUids = ['films', 'sky', 'books', 'coast', 'many', 'fresh'] as const

/** Options that pause the task queue. Accepted tasks then wait on disk. */
export const PAUSED = ['--experimental-max-number-of-batched-tasks', '0']
export const START_MS_MAX = 60_000
export const STOP_MS_MAX = 60_000

const words = ['harbour', 'lantern', 'meadow', 'copper', 'winter', 'signal', 'garden', 'velvet', 'ember']

/** Builds a world below `directory`, or reuses the world there. */
export async function buildWorld(directory: string, engine: string, seed: number): Promise<World> {
  const world: World = {
    engine,
    directories: { stopped: join(directory, 'stopped'), killed: join(directory, 'killed') },
    history: [0, 1, 2].map((stage) => join(directory, `stage-${stage}`)),
  }
  if ((await readdir(directory).catch((): string[] => [])).includes('killed')) return world
  await mkdir(directory, { recursive: true })
  const live = join(directory, 'live')
  const random = numbers(seed)
  let server = await started(live, engine)
  const stages = [firstStage, secondStage, thirdStage]
  for (const [at, stage] of stages.entries()) {
    await stage(server, random)
    await settled(server)
    await cp(live, world.history[at]!, { recursive: true })
  }
  await server.stop(STOP_MS_MAX)
  server = await started(live, engine, PAUSED)
  await waitingTasks(server, random)
  await server.stop(STOP_MS_MAX)
  await cp(live, world.directories.stopped, { recursive: true })
  server = await started(live, engine, PAUSED)
  // Adds a transaction that exists only in the write-ahead log of the task store.
  await send(server, 'DELETE', '/indexes/coast/documents/never-there')
  await server.kill()
  await rename(live, world.directories.killed)
  return world
}

/** Waits until no task is enqueued or processing. @throws after `msMax` */
export async function settled(server: ServerProcess, msMax = 60_000): Promise<void> {
  const end = Date.now() + msMax
  while (Date.now() < end) {
    const { body } = await server.call('GET', '/tasks?statuses=enqueued,processing&limit=1')
    if ((body as { total?: number }).total === 0) return
    await sleep(20)
  }
  throw new Error(`tasks are still waiting after ${msMax} ms`)
}

async function started(data: string, engine: string, args: readonly string[] = []): Promise<ServerProcess> {
  const outcome = await ServerProcess.start({ data, engine, args, startMsMax: START_MS_MAX })
  if (outcome.kind !== 'listening') throw new Error(`the world's server did not start: ${outcome.errors}`)
  return outcome.server
}

async function send(
  server: ServerProcess,
  method: string,
  path: string,
  body?: unknown,
  given: { readonly contentType?: string } = {},
): Promise<unknown> {
  const answer = await server.call(method, path, body, given)
  if (answer.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

type Random = () => number
type Document = Readonly<Record<string, unknown>>

const range = <T>(from: number, count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(from + at))
const pick = (random: Random, count: number): string =>
  range(0, count, () => words[Math.floor(random() * words.length)]).join(' ')

const film = (random: Random, id: number): Document => ({
  id,
  title: `${pick(random, 3)} ${id}`,
  overview: pick(random, 25),
  genres: [words[id % 4], words[id % 3]],
  year: 1950 + (id % 60),
})

const star = (random: Random, id: number): Document => ({
  id,
  name: pick(random, 2),
  _vectors: { sight: range(0, 8, () => Math.round(random() * 1000) / 1000) },
})

/** Documents without repeated words, so that compression does not make the index files small. */
const book = (random: Random, id: number): Document => ({
  id: `b-${id}`,
  text: range(0, 110, () => Math.floor(random() * 2 ** 40).toString(36)).join(' '),
  // Every 20th is longer than the longest string that a column stores.
  motto: id % 20 === 0 ? `${pick(random, 60)} ${id}` : words[id % words.length],
})

const town = (random: Random, id: number): Document => ({
  id,
  name: pick(random, 2),
  _geo: { lat: Math.round(random() * 9000) / 100, lng: Math.round(random() * 18000) / 100 },
})

/** Prevents a slow machine from cutting off searches, which would look like wrong answers. */
const uncut = { searchCutoffMs: 600_000 }

async function firstStage(server: ServerProcess, random: Random): Promise<void> {
  await send(server, 'PATCH', '/experimental-features', {
    containsFilter: true,
    editDocumentsByFunction: true,
    dynamicSearchRules: true,
  })
  await send(server, 'PATCH', '/indexes/films/settings', {
    filterableAttributes: ['genres', 'year'],
    sortableAttributes: ['year'],
    synonyms: { lantern: ['lamp'] },
    stopWords: ['the'],
    ...uncut,
  })
  await send(
    server,
    'POST',
    '/indexes/films/documents',
    range(0, 40, (id) => film(random, id)),
  )
  await send(server, 'PATCH', '/indexes/sky/settings', {
    embedders: { sight: { source: 'userProvided', dimensions: 8 } },
    ...uncut,
  })
  await send(
    server,
    'POST',
    '/indexes/sky/documents',
    range(0, 40, (id) => star(random, id)),
  )
  await send(server, 'POST', '/keys', {
    uid: '6a1b7a60-6a3c-4c5e-9d5f-6c1e0a2b3c4d',
    name: 'search of films',
    actions: ['search'],
    indexes: ['films'],
    expiresAt: null,
  })
}

async function secondStage(server: ServerProcess, random: Random): Promise<void> {
  await send(server, 'PATCH', '/indexes/books/settings', { filterableAttributes: ['motto'], ...uncut })
  await send(
    server,
    'POST',
    '/indexes/books/documents',
    range(0, 400, (id) => book(random, id)),
  )
  await send(server, 'PATCH', '/indexes/coast/settings', {
    filterableAttributes: ['_geo'],
    sortableAttributes: ['_geo'],
    ...uncut,
  })
  await send(
    server,
    'POST',
    '/indexes/coast/documents',
    range(0, 30, (id) => town(random, id)),
  )
  await send(server, 'POST', '/indexes/films/documents/delete-batch', [1, 5, 9])
  await send(
    server,
    'PUT',
    '/indexes/films/documents',
    range(10, 5, (id) => ({ id, year: 2001 })),
  )
  // A task that fails, and a deleted index.
  await send(server, 'DELETE', '/indexes/ghost')
  await send(server, 'POST', '/indexes/passing/documents', [{ id: 1 }])
  await send(server, 'DELETE', '/indexes/passing')
}

async function thirdStage(server: ServerProcess, random: Random): Promise<void> {
  // Just above the threshold for short-prefix lists in the native engine.
  await send(
    server,
    'POST',
    '/indexes/many/documents',
    range(0, 4_200, (id) => ({ id, name: `${words[id % 9]} ${id}` })),
  )
  for (const id of range(5_000, 10, (at) => at)) {
    await send(server, 'POST', '/indexes/many/documents', [{ id, name: pick(random, 2) }])
    await settled(server)
  }
  await send(
    server,
    'POST',
    '/indexes/sky/documents',
    range(40, 20, (id) => star(random, id)),
  )
  await send(server, 'POST', '/indexes/sky/documents/delete-batch', [2, 3])
  await send(server, 'POST', '/indexes', { uid: 'fresh', primaryKey: 'id' })
  // The native engine writes the column of long texts on first use.
  await send(server, 'POST', '/indexes/books/search', { filter: `motto = ${words[1]}` })
  await send(server, 'POST', '/webhooks', {
    url: 'https://hooks.invalid/siftd',
    headers: { 'x-trial': 'yes' },
  })
  await send(server, 'PATCH', '/dynamic-search-rules/pinned', {
    actions: { pin: [{ id: '7', position: 1, indexUid: 'films' }] },
  })
}

/** Enqueues at most one task per index, so that each index has only two valid states. */
async function waitingTasks(server: ServerProcess, random: Random): Promise<void> {
  // Larger than the uploads that the task store holds, so it goes to the spool.
  const ndjson = range(200, 60, (id) => JSON.stringify(film(random, id))).join('\n')
  await send(server, 'POST', '/indexes/films/documents', `${ndjson}\n`, {
    contentType: 'application/x-ndjson',
  })
  await send(server, 'POST', '/indexes/sky/documents', [star(random, 77)])
  await send(server, 'POST', '/indexes/books/documents/delete', { filter: `motto = ${words[3]}` })
  const rows = range(0, 300, (id) => `${id},${pick(random, 3)}`)
  await send(server, 'POST', '/indexes/fresh/documents', ['id,name', ...rows].join('\n'), {
    contentType: 'text/csv',
  })
  await send(server, 'PATCH', '/indexes/coast/settings', { stopWords: ['velvet'] })
}
