/**
 * Work for a request in the single thread of the fallback ends when the client disconnects or the filter runs out of
 * time.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { LocalEngine } from '../../ts/engine/fallback/engine.js'
import { openFallback } from '../../ts/engine/fallback/index.js'
import { filterClock } from '../../ts/engine/fallback/search/bounds.js'
import { encodeRequest, type IndexedRequest } from '../../ts/engine/index.js'
import { completeRequest, TestEngine } from '../support/engine.js'

const features = { containsFilter: false, legacySearch: false, multimodal: false, foreignKeys: false }
const listing = {
  indexUid: 'a',
  offset: 0,
  limit: 10,
  fields: null,
  retrieveVectors: false,
  ids: null,
  filter: null,
  sort: null,
  features,
}

test('a listing ends when its client disconnects, and the index stays usable', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-stop-'))
  const engine = await openFallback({ directory, log: { error: () => undefined } as never })
  t.teardown(async () => {
    await engine.close()
    await rm(directory, { recursive: true, force: true })
  })
  const payload = { text: '[{"id":1},{"id":2}]', format: 'json' } as const
  const documents = {
    kind: 'documents',
    method: 'replace',
    payload,
    primaryKey: null,
    skipCreation: false,
  } as const
  const operations = [{ taskUid: 1, ...documents }]
  await engine.commit(await engine.prepare('a', { uid: 1, indexUid: 'a', operations } as never), [])
  const gone = AbortSignal.abort()
  await t.throwsAsync(engine.documents('a', encodeRequest(listing), gone), { message: /given up/ })
  await t.throwsAsync(engine.documents('a', encodeRequest({ ...listing, filter: 'x = 1' }), gone))
  t.is(engine.damage('a'), null)
  const answer = JSON.parse(Buffer.from(await engine.documents('a', encodeRequest(listing))).toString())
  t.is(answer.total, 2)
})

test('a filter fails only after its time limit or when its client disconnects', (t) => {
  let now = 500
  const stop = { aborted: false }
  const check = filterClock(stop, 'invalid_document_filter', undefined, () => now)
  check()
  now += 3000
  check()
  now += 1
  t.throws(check, { message: /3000 ms/, name: 'EngineError' })
  now = 500
  stop.aborted = true
  t.throws(check, { message: /given up/ })
})

/** An engine on this thread, so that the order of calls is known. */
async function local(t: ExecutionContext): Promise<{ engine: LocalEngine; tested: TestEngine }> {
  let engine: LocalEngine | null = null
  const tested = await TestEngine.start(t, async (directory) => {
    engine = await LocalEngine.open({ directory }, () => undefined)
    return engine
  })
  return { engine: engine!, tested }
}

const QUERIES = 100
const queriesFor = (q: string): readonly IndexedRequest[] =>
  Array.from({ length: QUERIES }, () => ({
    index: 'things',
    request: encodeRequest(completeRequest({ q, limit: 5 })),
    foreign: [],
  }))
const federation = encodeRequest({
  paging: { kind: 'offset', offset: 0, limit: 1000 },
  facetsByIndex: {},
  mergeFacets: null,
  distinct: null,
  showPerformanceDetails: false,
  requestUid: '',
  origin: null,
  showScoreValues: false,
  metadata: null,
  weights: Array.from({ length: QUERIES }, () => 1),
  positions: Array.from({ length: QUERIES }, (_, at) => at),
})

for (const [kind, merging] of [
  ['answered separately', null],
  ['merged', federation],
] as const) {
  test(`a search runs between the queries of a multi-search that are ${kind}`, async (t) => {
    const { engine, tested } = await local(t)
    await tested.put('things', ...Array.from({ length: 100 }, (_, id) => ({ id, t: `amber birch ${id}` })))
    const ended: string[] = []
    const many = engine.multiSearch(queriesFor('amber birch'), merging).then(() => ended.push('many'))
    await new Promise<void>((resolve) => setImmediate(resolve))
    await tested.search('things', { q: 'cedar' })
    ended.push('one')
    await many
    t.deepEqual(ended, ['one', 'many'])
  })
}

test('the queries of a federation see the same commit and end despite continuous commits', async (t) => {
  const { engine, tested } = await local(t)
  const version = (v: number): Promise<unknown> =>
    tested.put('things', ...Array.from({ length: 20 }, (_, id) => ({ id, v, t: `amber${v % 2} birch` })))
  await version(0)
  let hasEnded = false
  const many = engine.multiSearch(queriesFor('birch'), federation).finally(() => {
    hasEnded = true
  })
  let commits = 0
  while (!hasEnded) await version(++commits)
  const { hits } = JSON.parse(Buffer.from((await many).body).toString()) as { hits: { v: number }[] }
  t.is(hits.length, 20)
  t.is(new Set(hits.map(({ v }) => v)).size, 1)
  t.true(commits > 0)
})
