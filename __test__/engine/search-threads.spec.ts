/** Searches of the fallback engine on several threads: every search sees the newest commit, and threads may end. */
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { BackgroundFaults } from '../../ts/engine/background-faults.js'
import type { FallbackOptions } from '../../ts/engine/fallback/engine.js'
import { engineOf } from '../../ts/engine/fallback/worker/calls.js'
import { EngineWorker } from '../../ts/engine/fallback/worker/engine-worker.js'
import { SearchThreads } from '../../ts/engine/fallback/worker/search-threads.js'
import { guarding } from '../../ts/engine/guarded.js'
import { encodeRequest } from '../../ts/engine/index.js'
import { completeRequest, TestEngine } from '../support/engine.js'

const silent = { warn: () => undefined, error: () => undefined }
const CONCURRENT = 16

/** A thread that counts the searches sent to it. */
class CountedWorker extends EngineWorker {
  searches = 0

  override call(...[call, args]: Parameters<EngineWorker['call']>): Promise<unknown> {
    if (call === 'search' || call === 'documents') this.searches += 1
    return super.call(call, args)
  }
}

/** An engine with two threads for copies. */
async function threads(t: ExecutionContext, copiedBytesMax = Number.POSITIVE_INFINITY) {
  const copies: CountedWorker[] = []
  const tested = await TestEngine.start(t, async (directory) => {
    const started = (options: FallbackOptions) =>
      new CountedWorker(options, silent, new BackgroundFaults(silent))
    const writer = started({ directory })
    const start = () => {
      const copy = started({ directory, isCopy: true })
      copies.push(copy)
      return copy
    }
    return guarding(engineOf(writer, new SearchThreads({ writer, copies: 2, start, copiedBytesMax })), silent)
  })
  const copied = (): number => copies.reduce((sum, { searches }) => sum + searches, 0)
  /** Searches concurrently, and again until the copies have answered some of them. */
  const untilCopied = async (search: () => Promise<unknown>): Promise<void> => {
    const before = copied()
    while (copied() === before) await together(search)
  }
  return { tested, copies, copied, untilCopied }
}

const together = <T>(search: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: CONCURRENT }, search))

test('every search after a commit sees it, in every thread', async (t) => {
  const { tested, copied, untilCopied } = await threads(t)
  await tested.put('things', { id: 1, round: 0 })
  await untilCopied(() => tested.idsFor('things', ''))
  for (let round = 1; round <= 150; round++) {
    const committing = tested.put('things', { id: 1, round })
    const during = together(() => tested.search('things', { q: '' }))
    await committing
    const after = await together(() => tested.search('things', { q: '' }))
    for (const { hits } of after) t.deepEqual(hits, [{ id: 1, round }])
    for (const { hits } of await during) t.true(round - Number(hits[0]!.round) <= 1)
    if (round % 10 === 0) await untilCopied(() => tested.idsFor('things', ''))
  }
  t.true(copied() > 15)
})

test('searches of one client need no copies', async (t) => {
  const { tested, copies } = await threads(t)
  await tested.put('things', { id: 1 })
  for (let round = 0; round < 20; round++) t.deepEqual(await tested.idsFor('things', ''), [1])
  t.is(copies.length, 0)
})

test('without memory for copies, the writing thread answers everything', async (t) => {
  const { tested, copied } = await threads(t, 10)
  await tested.put('things', { id: 1, text: 'more than ten bytes' })
  for (let round = 0; round < 20; round++)
    t.deepEqual(await together(() => tested.idsFor('things', 'more')), Array(CONCURRENT).fill([1]))
  t.is(copied(), 0)
})

test('copies that were not used for long make room for another', async (t) => {
  const { tested, untilCopied } = await threads(t, 30)
  for (const index of ['left', 'right']) await tested.put(index, { id: 1, text: 'a' })
  await untilCopied(() => tested.idsFor('left', 'a'))
  await untilCopied(() => tested.idsFor('right', 'a'))
  await untilCopied(() => tested.idsFor('left', 'a'))
  t.deepEqual(await tested.idsFor('right', 'a'), [1])
})

test('searches in flight are answered when a thread ends, and later searches too', async (t) => {
  const { tested, copies, untilCopied } = await threads(t)
  await tested.put('things', { id: 1 })
  await untilCopied(() => tested.idsFor('things', ''))
  const answers = together(() => tested.idsFor('things', ''))
  // The thread ends after this call, with the searches behind it unanswered.
  for (const copy of copies) await copy.call('close', []).catch(() => undefined)
  t.deepEqual(await answers, Array(CONCURRENT).fill([1]))
  for (let round = 0; round < 5; round++)
    t.deepEqual(await together(() => tested.idsFor('things', '')), Array(CONCURRENT).fill([1]))
})

test('an index is dropped with its copies, and another with its id starts empty', async (t) => {
  const { tested, copied, untilCopied } = await threads(t)
  for (let round = 0; round < 10; round++) {
    await tested.put('things', { id: round })
    await untilCopied(() => tested.idsFor('things', ''))
    const running = together(() => tested.idsFor('things', '').catch((error: Error) => error.message))
    await tested.engine.drop('things')
    for (const answer of await running) t.true(Array.isArray(answer) || /deleted/.test(String(answer)))
    await t.throwsAsync(tested.idsFor('things', ''), { message: /deleted/ })
  }
  t.true(copied() >= 10)
})

test('copies follow settings that build the index again, and a rewritten log', async (t) => {
  const { tested, untilCopied } = await threads(t)
  const text = Array.from({ length: 300 }, (_, at) => `word${at}`).join(' ')
  await tested.put('things', ...Array.from({ length: 600 }, (_, id) => ({ id, kind: `k${id % 3}`, text })))
  // Longer than what is replayed without a snapshot.
  await tested.snapshot('things', join(tested.directory, 'copy'))
  const ids = () => tested.search('things', { q: 'word7', filter: 'kind = k1', limit: 1000 })
  await tested.configure('things', { filterableAttributes: ['kind'] })
  await untilCopied(ids)
  for (const { hits } of await together(ids)) t.is(hits.length, 200)
  await tested.configure('things', { filterableAttributes: ['kind'], stopWords: ['word7'] })
  await tested.put('things', { id: 1000, kind: 'k1', text: 'word8' })
  await tested.engine.compact('things')
  const more = () => tested.search('things', { q: 'word8', filter: 'kind = k1', limit: 1000 })
  await untilCopied(more)
  for (const { hits } of await together(more)) t.is(hits.length, 201)
})

test('a search is answered between the queries of multi-searches, also without copies', async (t) => {
  const { tested } = await threads(t, 0)
  await tested.put('things', { id: 1 })
  const request = encodeRequest(completeRequest({ q: 'some words' }))
  const queries = Array.from({ length: 2000 }, () => ({ index: 'things', request }))
  const ended: string[] = []
  const multiSearches = Array.from({ length: 4 }, () =>
    tested.engine.multiSearch(queries, null).then(() => ended.push('multi-search')),
  )
  await tested.idsFor('things', '')
  ended.push('search')
  await Promise.all(multiSearches)
  t.is(ended[0], 'search')
})

test('searches that are given up end, in every thread', async (t) => {
  const { tested, untilCopied } = await threads(t)
  await tested.put('things', { id: 1 })
  await untilCopied(() => tested.idsFor('things', ''))
  const request = encodeRequest(completeRequest({ filter: 'id = 1' }))
  const search = () => tested.engine.search('things', request, AbortSignal.abort())
  const answers = await Promise.allSettled(Array.from({ length: CONCURRENT }, search))
  for (const answer of answers)
    t.regex(answer.status === 'rejected' ? String(answer.reason) : 'answered', /given up/)
  t.deepEqual(await tested.idsFor('things', ''), [1])
})
