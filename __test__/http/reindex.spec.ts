/**
 * An index stores the versions of what cut its documents into words. If they differ from those of the engine, it serves as
 * before, warnings say so, and a task cuts the documents again.
 */
import test, { type ExecutionContext } from 'ava'
import { tempDir } from '../backup/archives.js'
import { directoryOf, manifestOf, type StoredAnalysis, storeAnalysis } from '../support/index-files.js'
import { startServer, type TestServer, testEngine } from '../support/server.js'

/** The fallback stores versions in its snapshot, which only an index above a megabyte has. */
const films = Array.from({ length: testEngine === 'fallback' ? 1200 : 3 }, (_, id) => ({
  id,
  title: `film ${id}`,
  ...(testEngine === 'fallback' && { filler: 'x '.repeat(500) }),
}))

/** Starts a server again over an index whose documents were cut by `analysis`. */
async function restarted(
  t: ExecutionContext,
  analysis: StoredAnalysis | undefined,
  options: Parameters<typeof startServer>[1] = {},
): Promise<TestServer & { readonly directory: string }> {
  const directory = await tempDir(t)
  const before = await startServer(t, { directory })
  await before.settle(t, before.patch('/indexes/films/settings', { searchableAttributes: ['title'] }))
  await before.settle(t, before.post('/indexes/films/documents', films))
  const files = await directoryOf(directory, 'films')
  await before.stop()
  if (analysis !== undefined) await storeAnalysis(files, analysis)
  return { ...(await startServer(t, { directory, ...options })), directory }
}

const older = { segmenter: 'an older one' }

interface Warning {
  readonly code: string
  readonly message: string
}

const warningsOf = async (server: TestServer, path: string): Promise<readonly Warning[]> =>
  ((await server.get(path)).body.warnings ?? []) as readonly Warning[]
const hits = async (server: TestServer): Promise<unknown> =>
  (await server.post('/indexes/films/search', { q: 'film 2', limit: 1 })).body.hits[0]?.id

test(`${testEngine}: an index of this version has no warning`, async (t) => {
  const server = await restarted(t, undefined)
  t.deepEqual((await server.get('/health')).body, { status: 'available' })
  t.deepEqual(await warningsOf(server, '/indexes/films/stats'), [])
  const { index, engine } = await server.parts.engine.analysis(server.parts.tasks.index('films')?.id ?? '')
  t.deepEqual(index, engine)
  t.deepEqual(Object.keys(engine).sort(), [
    ...['chinese', 'japanese', 'korean', 'normaliser', 'rules', 'segmenter', 'stemmer', 'thaiAndKhmer'],
    'unicode',
  ])
})

test(`${testEngine}: an outdated index warns, serves, and a task renews it for good`, async (t) => {
  const server = await restarted(t, older)
  const [health, ...others] = await warningsOf(server, '/health')
  t.is(health?.code, 'outdated_analysis')
  t.regex(health?.message ?? '', /^1 index was .* run siftd reindex --all$/)
  t.false(health?.message.includes('films'), 'names need a key')
  t.is(others.length, 0)
  const [stats] = await warningsOf(server, '/indexes/films/stats')
  t.regex(stats?.message ?? '', /segmenter was an older one and is .* run siftd reindex films$/)
  const { indexes } = (await server.get('/stats')).body as {
    indexes?: Record<string, { warnings?: unknown }>
  }
  t.deepEqual(indexes?.films?.warnings, [stats])
  t.is(await hits(server), 2)

  await server.settle(t, server.post('/indexes/films/documents', [{ id: 7, title: 'another film' }]))
  t.is((await warningsOf(server, '/health')).length, 1, 'new documents change nothing for older ones')

  const accepted = server.post('/indexes/films/reindex')
  t.is(await hits(server), 2, 'searches go on')
  t.like(await server.settle(t, accepted), { type: 'settingsUpdate', status: 'succeeded' })
  t.is(await hits(server), 2)
  t.deepEqual((await server.get('/health')).body, { status: 'available' })
  t.deepEqual(await warningsOf(server, '/indexes/films/stats'), [])
  await server.stop()
  const again = await startServer(t, { directory: server.directory })
  t.deepEqual((await again.get('/health')).body, { status: 'available' })
  t.is(await hits(again), 2)
})

test(`${testEngine}: with reindexOnUpgrade the start renews outdated indexes`, async (t) => {
  const server = await restarted(t, older, { reindexOnUpgrade: true })
  // The warning goes a moment before the task ends. The first change of settings is that of the old server.
  const ended = '/tasks?types=settingsUpdate&statuses=succeeded,failed'
  while (Number((await server.get(ended)).body.total) < 2)
    await new Promise((resolve) => setTimeout(resolve, 10))
  const { results } = (await server.get('/tasks?limit=1')).body
  t.like(results[0], { type: 'settingsUpdate', status: 'succeeded', indexUid: 'films' })
  t.deepEqual(await warningsOf(server, '/health'), [])
})

test(`${testEngine}: a missing index cannot be analysed again`, async (t) => {
  const server = await startServer(t)
  const { body } = await server.post('/indexes/none/reindex?waitMs=10000')
  t.like(body, { status: 'failed', error: { code: 'index_not_found' } })
})

if (testEngine === 'native')
  test('native: an index without versions counts as one of the last version without them', async (t) => {
    const server = await restarted(t, null)
    t.deepEqual((await server.get('/health')).body, { status: 'available' })
    await server.settle(t, server.post('/indexes/films/documents', [{ id: 7, title: 'another film' }]))
    const manifest = (await manifestOf(await directoryOf(server.directory, 'films'))) as { analysis?: object }
    t.is(Object.keys(manifest.analysis ?? {}).length, 9)
  })
