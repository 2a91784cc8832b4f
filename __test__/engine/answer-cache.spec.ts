/** Both engines return cached answers for as long as they are valid. */
import test from 'ava'
import { answersOf } from '../../ts/engine/answer-cache.js'
import type { Answer, Answers, Engine } from '../../ts/engine/index.js'
import { openEngine } from '../../ts/engine/index.js'
import { completeRequest, type SearchBody, TestEngine } from '../support/engine.js'
import { testedEngines } from '../support/engines.js'
import { testNeeding } from '../support/test-needing.js'

const silent = (): void => undefined
const log = { debug: silent, info: silent, warn: silent, error: silent }
const MIB = 1024 * 1024
/** Documents with field names that answers also use. */
const films = [
  { id: 1, title: 'A Quiet Orbit', processingTimeMs: 12, requestUid: 'x', tags: ['"processingTimeMs":3'] },
  { id: 2, title: 'Orbit of Ünrest', processingTimeMs: 345, requestUid: 'y', tags: ['calm'] },
]
const uids = [
  '019a0000-0000-7000-8000-000000000001',
  '019a0000-0000-7000-8000-000000000002',
  '019a0000-0000-7000-8000-000000000003',
] as const

/** Counts the searches of an engine. */
class CountedEngine {
  searches = 0
  /** Transforms an answer of the engine. */
  transform: (answer: Answer) => Promise<Answer> | Answer = (answer) => answer

  wrap(engine: Engine): Engine {
    const search: Engine['search'] = async (index, request, stop) => {
      this.searches += 1
      return this.transform(await engine.search(index, request, stop))
    }
    return { ...engine, search }
  }
}

for (const { name: kind, needs } of testedEngines) {
  const declare = testNeeding(needs, test)
  const started = async (t: Parameters<typeof TestEngine.start>[0], bytesMax = MIB) => {
    const counted = new CountedEngine()
    let answers: Answers | null = null
    const engine = await TestEngine.start(t, async (directory) => {
      const setup = { directory, log, indexingMemoryBytes: 64 * MIB, indexingThreads: 1 }
      const opened = counted.wrap((await openEngine(kind, setup)).engine)
      answers = answersOf(opened, bytesMax)
      return opened
    })
    await engine.configure('films', { filterableAttributes: ['processingTimeMs', 'requestUid', 'tags'] })
    await engine.apply('films', await engine.upload(films, { primaryKey: 'id' }))
    const ask = async (body: SearchBody, requestUid: string = uids[0]): Promise<string> => {
      const request = completeRequest({ ...body, requestUid })
      return Buffer.from((await answers!.search('films', request)).body).toString()
    }
    return { counted, engine, answers: answers!, ask }
  }

  declare(`${kind}: a cached answer differs from the first only in its uid and time`, async (t) => {
    const { counted, ask } = await started(t)
    // Client text looks like the text to be replaced.
    const body = {
      q: `orbit ${uids[0]} "processingTimeMs":7`,
      facets: ['processingTimeMs', 'requestUid', 'tags'],
      showRankingScoreDetails: true,
      attributesToHighlight: ['*'],
    }
    counted.transform = ({ body: bytes, facts, timeAt }) => {
      const text = Buffer.from(bytes)
      const late = Buffer.concat([text.subarray(0, timeAt), Buffer.from('98'), text.subarray(timeAt)])
      return { body: late, facts, timeAt: timeAt! }
    }
    const first = JSON.parse(await ask(body))
    t.regex(String(first.processingTimeMs), /^98/)
    t.is(first.hits.length, 1)
    for (const uid of uids) {
      t.deepEqual(JSON.parse(await ask(body, uid)), { ...first, processingTimeMs: 0, requestUid: uid })
    }
    t.is(counted.searches, 1)
    await ask({ ...body, limit: 1 })
    t.is(counted.searches, 2, 'another request has another answer')
  })

  declare(`${kind}: an answer from before a commit is not returned after it`, async (t) => {
    const { counted, engine, ask } = await started(t)
    const titles = async (): Promise<unknown> =>
      JSON.parse(await ask({ q: 'orbit' })).hits.map(({ title }: { title?: string }) => title ?? null)
    const steps: readonly [string, () => Promise<unknown>, unknown][] = [
      ['as it was', async () => undefined, ['Orbit of Ünrest', 'A Quiet Orbit']],
      ['documents', () => engine.put('films', { id: 1, title: 'Orbit' }), ['Orbit', 'Orbit of Ünrest']],
      ['settings', () => engine.configure('films', { displayedAttributes: ['id'] }), [null, null]],
      ['deletion', () => engine.apply('films', { kind: 'deleteByIds', ids: ['2'] }), [null]],
      ['clearing', () => engine.apply('films', { kind: 'clear' }), []],
    ]
    for (const [name, change, expected] of steps) {
      await change()
      t.deepEqual(await titles(), expected, name)
      t.deepEqual(await titles(), expected, name)
    }
    t.is(counted.searches, steps.length)
  })

  declare(`${kind}: an answer computed during a commit is not cached`, async (t) => {
    const { counted, engine, ask } = await started(t)
    let goOn = silent
    const held = new Promise<void>((resolve) => {
      goOn = resolve
    })
    let arrive = silent
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    counted.transform = async (answer) => {
      arrive()
      await held
      return answer
    }
    const slow = ask({ q: 'quiet' })
    await arrived
    await engine.apply('films', { kind: 'clear' })
    goOn()
    t.is(JSON.parse(await slow).hits.length, 1)
    t.is(JSON.parse(await ask({ q: 'quiet' })).hits.length, 0)
  })

  declare(`${kind}: answers that differ each time or are incomplete are not cached`, async (t) => {
    const { counted, ask } = await started(t)
    const twice = async (body: SearchBody): Promise<number> => {
      const before = counted.searches
      await ask(body)
      await ask(body)
      return counted.searches - before
    }
    t.is(await twice({ q: 'orbit', showPerformanceDetails: true }), 2)
    t.is(await twice({ q: 'orbit', metadata: { indexUid: 'films' } }), 2)
    counted.transform = (answer) => ({ ...answer, facts: { ...answer.facts, degraded: true } })
    t.is(await twice({ q: 'orbit' }), 2)
    counted.transform = (answer) => answer
    t.is(await twice({ q: 'orbit' }), 1)
    await t.throwsAsync(ask({ q: 'orbit', filter: 'id = ' }), { code: 'invalid_search_filter' })
    await t.throwsAsync(ask({ q: 'orbit', filter: 'id = ' }), { code: 'invalid_search_filter' })
  })

  declare(`${kind}: a full cache evicts the least recently used answer`, async (t) => {
    const { counted, answers, ask } = await started(t, 64 * 1024)
    const queries = Array.from({ length: 100 }, (_, at) => ({ q: `orbit ${at}` }))
    for (const query of queries) {
      await ask({ q: 'calm' })
      await ask(query)
    }
    t.is(counted.searches, 101, 'a frequently used answer stays')
    await ask(queries.at(-1)!)
    t.is(counted.searches, 101)
    await ask(queries[0]!)
    t.is(counted.searches, 102)
    const { hits, misses, entries, bytes } = answers.figures()
    t.deepEqual([hits, misses], [100, 102])
    t.true(entries > 0 && bytes > 0 && bytes <= 64 * 1024, `${entries} entries of ${bytes} bytes`)
  })
}
