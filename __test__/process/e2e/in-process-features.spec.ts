/**
 * `open()` gives the same answers as the routes. Rules tested here:
 * 1. Each method answers as its route does for the same directory.
 * 2. Errors have the code of the route.
 * 3. Server options take effect, and task changes are reported.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { open, type Siftd, type TaskSummary } from '../../../ts/index.js'
import { startDaemon, type TestDaemon } from '../../support/daemon.js'
import { chosenEngines } from '../../support/engines.js'
import { scriptInterpreter } from '../../support/requirements.js'
import { testNeeding } from '../../support/test-needing.js'

const films = [
  { id: 1, title: 'Solaris', genre: 'drama', year: 1972, _vectors: { by: [1, 0] } },
  { id: 2, title: 'Alien', genre: 'horror', year: 1979, _vectors: { by: [0, 1] } },
  { id: 3, title: 'Stalker', genre: 'drama', year: 1979, _vectors: { by: [1, 0.1] } },
]
const books = [{ id: 'a', title: 'Solaris' }]

const settings = {
  filterableAttributes: ['genre', 'title', 'year'],
  sortableAttributes: ['year'],
  embedders: { by: { source: 'userProvided', dimensions: 2 } },
} as const

/** An in-process call, and the route that must give the same answer. */
interface Reading {
  readonly name: string
  ask(siftd: Siftd): unknown
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly body?: object
}

const fetched = { sort: ['year:desc'], fields: ['id'], limit: 2, filter: 'year > 1900' }
const meaning = { vector: [1, 0], hybrid: { embedder: 'by', semanticRatio: 1 }, showRankingScore: true }
const facet = { facetName: 'genre', facetQuery: 'dra' }
const like = { id: 1, embedder: 'by', limit: 1 }
const changed = { sortableAttributes: ['year', 'title'], searchableAttributes: ['title'], stopWords: ['the'] }
const queries = [
  { indexUid: 'films', q: 'solaris' },
  { indexUid: 'books', q: 'solaris' },
]
const weighted = {
  queries: [queries[0]!, { ...queries[1]!, federationOptions: { weight: 2 } }],
  federation: { limit: 5, facetsByIndex: { films: ['genre'] } },
}

const readings: readonly Reading[] = [
  {
    name: 'search',
    ask: (siftd) => siftd.index('films').search('stalkr', { facets: ['genre'], filter: 'year = 1979' }),
    method: 'POST',
    path: '/indexes/films/search',
    body: { q: 'stalkr', facets: ['genre'], filter: 'year = 1979' },
  },
  {
    name: 'search by a vector',
    ask: (siftd) => siftd.index('films').search(null, meaning),
    method: 'POST',
    path: '/indexes/films/search',
    body: meaning,
  },
  {
    name: 'explain',
    ask: (siftd) => siftd.index('films').explain(3, 'stalkr', { filter: 'year = 1972' }),
    method: 'POST',
    path: '/indexes/films/explain',
    body: { id: 3, q: 'stalkr', filter: 'year = 1972' },
  },
  {
    name: 'facetSearch',
    ask: (siftd) => siftd.index('films').facetSearch(facet),
    method: 'POST',
    path: '/indexes/films/facet-search',
    body: facet,
  },
  {
    name: 'similar',
    ask: (siftd) => siftd.index('films').similar(like),
    method: 'POST',
    path: '/indexes/films/similar',
    body: like,
  },
  {
    name: 'multiSearch',
    ask: (siftd) => siftd.multiSearch({ queries }),
    method: 'POST',
    path: '/multi-search',
    body: { queries },
  },
  {
    name: 'multiSearch with a federation',
    ask: (siftd) => siftd.multiSearch(weighted),
    method: 'POST',
    path: '/multi-search',
    body: weighted,
  },
  {
    name: 'documents',
    ask: (siftd) => siftd.index('films').documents(fetched),
    method: 'POST',
    path: '/indexes/films/documents/fetch',
    body: fetched,
  },
  {
    name: 'settings',
    ask: (siftd) => siftd.index('films').settings(),
    method: 'GET',
    path: '/indexes/films/settings',
  },
  {
    name: 'fields',
    ask: (siftd) => siftd.index('films').fields({ limit: 2, filter: { filterable: true } }),
    method: 'POST',
    path: '/indexes/films/fields',
    body: { limit: 2, filter: { filterable: true } },
  },
  {
    name: 'compareSettings',
    ask: (siftd) => siftd.index('films').compareSettings(changed),
    method: 'PATCH',
    path: '/indexes/films/settings?dryRun=true',
    body: changed,
  },
  {
    name: 'batches',
    ask: (siftd) => siftd.batches({ limit: 3, reverse: true, types: ['documentEdition', 'indexSwap'] }),
    method: 'GET',
    path: '/batches?limit=3&reverse=true&types=documentEdition,indexSwap',
  },
  { name: 'batch', ask: (siftd) => siftd.batch(1), method: 'GET', path: '/batches/1' },
]

const mistakes: readonly (readonly [code: string, ask: (siftd: Siftd) => Promise<unknown>])[] = [
  [
    'missing_facet_search_facet_name',
    (siftd) => siftd.index('films').facetSearch({} as { facetName: string }),
  ],
  ['invalid_similar_embedder', (siftd) => siftd.index('films').similar({ id: 1, embedder: 'none' })],
  ['not_found_similar_id', (siftd) => siftd.index('films').similar({ id: 9, embedder: 'by' })],
  ['invalid_document_limit', (siftd) => siftd.index('films').documents({ limit: -1 })],
  ['index_not_found', (siftd) => siftd.multiSearch({ queries: [{ indexUid: 'none' }] })],
  [
    'invalid_multi_search_federation_options',
    (siftd) => siftd.multiSearch({ queries: [{ indexUid: 'films', federationOptions: { weight: 1 } }] }),
  ],
  ['feature_not_enabled', (siftd) => siftd.index('films').editDocuments({ function: 'doc.year += 1' })],
  ['invalid_document_filter', (siftd) => siftd.index('films').deleteDocuments({ filter: 'year >' })],
  ['invalid_document_filter', (siftd) => siftd.index('films').deleteDocuments({ filter: '' })],
  ['invalid_index_limit', (siftd) => siftd.index('films').fields({ limit: -1 })],
  ['invalid_settings_stop_words', (siftd) => siftd.index('films').compareSettings({ stopWords: 1 } as never)],
  ['invalid_swap_duplicate_index_found', (siftd) => siftd.swapIndexes([{ indexes: ['films', 'films'] }])],
  ['invalid_export_url', (siftd) => siftd.export({ url: 1 as unknown as string })],
  ['feature_not_enabled', (siftd) => siftd.index('films').search('a', { filter: 'title CONTAINS a' })],
]

for (const { name, needs } of chosenEngines)
  testNeeding([...needs, scriptInterpreter])(
    `${name}: in-process calls give the same answers as their routes`,
    async (t) => {
      t.timeout(300_000)
      const base = await mkdtemp(join(tmpdir(), 'siftd-open-'))
      t.teardown(() => rm(base, { recursive: true, force: true }))
      const [directory, dumpDir, snapshotDir] = ['data', 'dumps', 'snapshots'].map((part) =>
        join(base, part),
      ) as [string, string, string]
      const options = { directory, dumpDir, snapshotDir, logLevel: 'OFF', cacheSize: 64 * 2 ** 20 } as const
      const siftd = await open({ ...options, engine: name })
      const ended = new Set<number>()
      const stop = siftd.onTaskChange(({ taskUids, hasEnded }) => {
        if (hasEnded) for (const uid of taskUids) ended.add(uid)
      })
      const settled = async (write: Promise<TaskSummary>) => {
        const { taskUid } = await write
        const task = await siftd.waitForTask(taskUid)
        t.is(task.status, 'succeeded', JSON.stringify(task.error))
        t.true(ended.has(taskUid), 'the end of the task was reported')
        return task
      }
      const index = siftd.index('films')
      await settled(index.create({ primaryKey: 'id' }))
      await settled(index.updateSettings(settings))
      await settled(index.addDocuments(films))
      await settled(siftd.index('books').addDocuments(books))
      await settled(siftd.index('extra').addDocuments([...films.map(({ _vectors, ...film }) => film)]))
      await settled(siftd.index('extra').updateSettings({ filterableAttributes: ['year'] }))
      await settled(siftd.index('extra').deleteDocuments({ filter: 'year = 1972' }))
      t.is((await siftd.index('extra').stats()).numberOfDocuments, 2)
      await siftd.updateFeatures({ editDocumentsByFunction: true })
      await settled(
        siftd.index('extra').editDocuments({ function: 'doc.year += context.by', context: { by: 1 } }),
      )
      await siftd.updateFeatures({ editDocumentsByFunction: false })
      t.is((await siftd.index('extra').document(2))?.year, 1980)
      await settled(siftd.index('extra').compact())
      await settled(siftd.swapIndexes([{ indexes: ['extra', 'books'] }]))
      t.deepEqual(await siftd.index('extra').document('a'), books[0])
      await settled(siftd.swapIndexes([{ indexes: ['books', 'extra'] }]))
      await settled(siftd.index('extra').deleteDocuments([2]))
      await settled(siftd.index('extra').deleteAllDocuments())
      await settled(siftd.index('extra').resetSettings())
      await settled(siftd.index('extra').update({ uid: 'other' }))
      await settled(siftd.index('other').delete())
      await settled(siftd.createDump())
      await settled(siftd.createSnapshot())
      t.is((await readdir(dumpDir)).length, 1)
      t.is((await readdir(snapshotDir)).length, 1)
      t.is((await siftd.task(0))?.type, 'indexCreation')
      t.is(await siftd.task(99), null)
      const { results, total } = await siftd.tasks({ types: ['settingsUpdate'], limit: 1 })
      t.deepEqual([results.length, total], [1, 3])
      t.is((await settled(siftd.cancelTasks({ uids: [0] }))).details?.canceledTasks as unknown, 0)
      t.is((await settled(siftd.deleteTasks({ uids: [0] }))).details?.deletedTasks as unknown, 1)
      t.deepEqual([await siftd.task(0), await siftd.batch(99)], [null, null])
      stop()
      for (const [code, ask] of mistakes) await t.throwsAsync(ask(siftd), { code }, code)
      const inside: unknown[] = []
      for (const { ask } of readings) inside.push(comparable(await ask(siftd)))
      t.true((await siftd.updateFeatures({ containsFilter: true })).containsFilter)
      t.is((await index.search('', { filter: 'title CONTAINS a' })).hits.length, 3)
      await siftd.close()

      const daemon = await startDaemon(t, directory, [])
      for (const [at, reading] of readings.entries())
        t.deepEqual(inside[at], await routed(daemon, reading), reading.name)
      await daemon.stop()
    },
  )

const routed = async (daemon: TestDaemon, { method, path, body }: Reading): Promise<unknown> =>
  comparable((await daemon.call(method, path, body)).body)

/** Returns an answer without its duration and random parts. */
const comparable = (answer: unknown): unknown =>
  JSON.parse(
    JSON.stringify(answer, (key, value) => (/^(processingTimeMs|requestUid)$/.test(key) ? undefined : value)),
  )

test('server options take effect in-process', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-open-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const siftd = await open({
    directory,
    engine: 'fallback',
    logLevel: 'OFF',
    experimentalContainsFilter: true,
  })
  const { taskUid } = await siftd.index('films').addDocuments([{ id: 1, title: 'Solaris' }])
  await siftd.waitForTask(taskUid)
  await siftd.waitForTask(
    (await siftd.index('films').updateSettings({ filterableAttributes: ['title'] })).taskUid,
  )
  t.is((await siftd.index('films').search('', { filter: 'title CONTAINS lar' })).hits.length, 1)
  await siftd.close()
})
