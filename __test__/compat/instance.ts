/** A small instance with every feature, and the answers that later versions must give. */
import { cp, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageVersion } from '../../ts/launch/index.js'
import { startDaemon, type TestDaemon } from '../support/daemon.js'

const MASTER_KEY = 'the-master-key-of-compat-instances'

/** A request to the instance when it was written, and its answer. */
export interface Exchange {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly answer: unknown
}

/** Files of an instance, in addition to the exchanges. */
export const parts = { data: 'data', snapshot: 'data.snapshot', dump: 'instance.dump' } as const
export const EXCHANGES = 'exchanges.json'

const films = [
  { id: 1, title: 'Winter of the Cranes', genre: 'drama', year: 1971, _vectors: { moods: [1, 0] } },
  { id: 2, title: 'The Glass Vessel', genre: 'adventure', year: 1988, _vectors: { moods: [0, 1] } },
  { id: 3, title: 'Über den Dächern', genre: 'comedy', year: 1999, _vectors: { moods: null } },
  {
    id: 'four',
    title: 'A Ship Called Wednesday',
    _geo: { lat: 48.86, lng: 2.35 },
    _vectors: { moods: null },
  },
]

/** Writes in order. Each is a task unless it takes effect at once. */
const writes: readonly (readonly [string, string, unknown?])[] = [
  ['PATCH', '/experimental-features', { containsFilter: true }],
  [
    'POST',
    '/keys',
    {
      uid: '0b8c5c0e-9d0a-4c5b-a9c4-4f1e5c3d7a10',
      name: 'search of films',
      actions: ['search'],
      indexes: ['films'],
      expiresAt: null,
    },
  ],
  ['POST', '/webhooks', { url: 'https://hooks.invalid/siftd', headers: { 'x-from': 'compat' } }],
  [
    'PATCH',
    '/indexes/films/settings',
    {
      filterableAttributes: ['genre', 'year', '_geo'],
      sortableAttributes: ['year', '_geo'],
      synonyms: { ship: ['vessel'] },
      stopWords: ['of'],
      embedders: { moods: { source: 'userProvided', dimensions: 2 } },
    },
  ],
  ['POST', '/indexes/films/documents', [...films, { id: 'gone', title: 'Gone', _vectors: { moods: null } }]],
  ['DELETE', '/indexes/films/documents/gone'],
  ['PUT', '/indexes/films/documents', [{ id: 1, seen: true }]],
  ['POST', '/indexes', { uid: 'empty', primaryKey: 'ring' }],
  ['POST', '/indexes', { uid: 'empty' }],
]

/** Number of writes that create tasks. */
const TASKS = 6
const uids = Array.from({ length: TASKS }, (_, uid) => uid).join(',')

const questions: readonly (readonly [string, string, unknown?])[] = [
  ['GET', '/indexes/films/settings'],
  ['GET', '/indexes/films/documents?retrieveVectors=true'],
  ['GET', '/indexes/empty/documents'],
  ['GET', `/tasks?reverse=true&uids=${uids}`],
  ['GET', '/keys'],
  ['GET', '/webhooks'],
  ['GET', '/experimental-features'],
  ...[
    { q: 'winter cranse' },
    { q: 'ship' },
    { q: 'dachern' },
    { q: '', filter: 'genre = comedy OR year > 1980', sort: ['year:desc'], facets: ['genre'] },
    { q: '', sort: ['_geoPoint(48, 2):asc'], limit: 1 },
    { q: 'gone' },
    { vector: [0.1, 1], hybrid: { embedder: 'moods', semanticRatio: 1 }, limit: 2 },
  ].map((body) => ['POST', '/indexes/films/search', body] as const),
]

type Teardown = Parameters<typeof startDaemon>[0]

export function startInstance(t: Teardown, data: string, args: readonly string[]): Promise<TestDaemon> {
  return startDaemon(t, data, ['--master-key', MASTER_KEY, ...args])
}

export async function asked(
  { port }: TestDaemon,
  [method, path, body]: readonly [string, string, unknown?],
): Promise<Readonly<Record<string, unknown>>> {
  const headers = { authorization: `Bearer ${MASTER_KEY}`, 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...sent })
  return (await answer.json()) as Readonly<Record<string, unknown>>
}

async function settled(server: TestDaemon, taskUid: unknown): Promise<Readonly<Record<string, unknown>>> {
  for (;;) {
    const task = await asked(server, ['GET', `/tasks/${taskUid}`])
    if (task.finishedAt !== null) return task
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Members that differ between requests. */
const passing = ['processingTimeMs', 'requestUid'] as const

export function steady(answer: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(answer).filter(([key]) => !passing.includes(key as never)))
}

/** Writes an instance of this version into a directory below `home`. @returns its path */
export async function writeInstance(home: string, engine: 'native' | 'fallback'): Promise<string> {
  const work = await mkdtemp(join(tmpdir(), 'siftd-compat-'))
  const target = join(home, `instance-${engine}-${packageVersion()}`)
  const ends: (() => unknown)[] = []
  try {
    const data = join(work, parts.data)
    const given = ['--engine', engine, '--dump-dir', work, '--snapshot-dir', work]
    const server = await startInstance({ teardown: (end) => void ends.push(end) }, data, given)
    for (const write of writes) {
      const { taskUid } = await asked(server, write)
      if (taskUid !== undefined) await settled(server, taskUid)
    }
    const exchanges: Exchange[] = []
    for (const question of questions) {
      const [method, path, body] = question
      const answer = steady(await asked(server, question))
      exchanges.push({ method, path, ...(body !== undefined && { body }), answer })
    }
    const snapshot = await settled(server, (await asked(server, ['POST', '/snapshots'])).taskUid)
    const dump = await settled(server, (await asked(server, ['POST', '/dumps'])).taskUid)
    if (snapshot.status !== 'succeeded' || dump.status !== 'succeeded') throw new Error(JSON.stringify(dump))
    await server.stop()
    // The next start creates this file of random bytes again.
    await rm(join(data, 'tasks', 'reserve'), { force: true })
    const [dumped] = (await readdir(work)).filter((name) => name.endsWith('.dump'))
    await rename(join(work, String(dumped)), join(work, parts.dump))
    await rm(target, { recursive: true, force: true })
    await mkdir(target, { recursive: true })
    for (const part of Object.values(parts))
      await cp(join(work, part), join(target, part), { recursive: true })
    await writeFile(join(target, EXCHANGES), `${JSON.stringify(exchanges, null, 1)}\n`)
    return target
  } finally {
    for (const end of ends) await end()
    await rm(work, { recursive: true, force: true })
  }
}
