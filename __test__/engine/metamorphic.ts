/** Properties of every index and every search, whatever the right answer is. */
import type { ExecutionContext } from 'ava'
import { type SearchAnswer, type SearchBody, TestEngine } from '../support/engine.js'
import type { TestedEngine } from '../support/engines.js'
import fc from '../support/property.js'
import { testNeeding } from '../support/test-needing.js'
import { type World, worlds } from './arbitraries.js'

const RUNS = 12
const REQUESTS = 6

/** Declares the properties for one engine. */
export function metamorphic({ name, open, needs }: TestedEngine): void {
  const declare = testNeeding(needs)
  const property = (
    claim: string,
    holds: (t: ExecutionContext, engine: TestEngine, index: string, world: World) => Promise<void>,
    numRuns = RUNS,
  ): void =>
    declare(`${name}: ${claim}`, async (t) => {
      const engine = await TestEngine.start(t, open)
      let indexes = 0
      await fc.assert(
        fc.asyncProperty(worlds(REQUESTS), async (world) => {
          const index = `world-${++indexes}`
          await engine.configure(index, world.settings)
          await engine.outcome(index, await engine.upload(world.documents, { primaryKey: 'id' }))
          await holds(t, engine, index, world)
        }),
        { numRuns },
      )
    })

  property('a page is a slice of the complete list', async (t, engine, index, { requests }) => {
    for (const request of requests) {
      const body = { ...withoutPaging(request), distinct: null }
      const all = await answerOf(engine, index, { ...body, limit: 1000 })
      if (all === null) continue
      for (const size of [1, 3]) {
        const pages: unknown[] = []
        for (let page = 1; pages.length < all.hits.length && page <= all.hits.length; page++)
          pages.push(...(await answerOf(engine, index, { ...body, page, hitsPerPage: size }))!.hits)
        t.deepEqual(pages, [...all.hits], JSON.stringify(request))
        const windows = await answerOf(engine, index, { ...body, offset: size, limit: size })
        t.deepEqual([...windows!.hits], all.hits.slice(size, 2 * size), JSON.stringify(request))
      }
    }
  })

  property(
    'a filter never increases the count, and its negation matches the rest',
    async (t, engine, index, { requests }) => {
      for (const request of requests) {
        const { filter, ...rest } = withoutPaging(request)
        if (typeof filter !== 'string') continue
        const count = async (restriction: string | null): Promise<number | null> =>
          (
            await answerOf(engine, index, {
              ...rest,
              distinct: null,
              rankingScoreThreshold: null,
              filter: restriction,
            })
          )?.estimatedTotalHits ?? null
        const [all, some, others] = [await count(null), await count(filter), await count(`NOT (${filter})`)]
        if (all === null || some === null || others === null) continue
        t.true(some <= all, JSON.stringify(request))
        t.is(some + others, all, JSON.stringify(request))
      }
    },
  )

  property(
    'answers are the same after deleted documents are added again',
    async (t, engine, index, { requests, documents }) => {
      const ask = (): Promise<unknown[]> => answers(engine, index, requests)
      const before = await ask()
      // The last documents, since new documents get the lowest free docids.
      const some = documents.slice(-3)
      await engine.apply(index, { kind: 'deleteByIds', ids: some.map(({ id }) => String(id)) })
      await engine.outcome(index, await engine.upload(some))
      t.deepEqual(await ask(), before)
      for (const document of documents) await engine.outcome(index, await engine.upload([document]))
      t.deepEqual(await ask(), before)
    },
  )

  property(
    'answers do not depend on how documents are split into batches',
    async (t, engine, index, world) => {
      const { documents, settings, requests } = world
      const cut = `${index}-cut`
      const third = Math.ceil(documents.length / 3)
      await engine.outcome(cut, await engine.upload(documents.slice(0, third), { primaryKey: 'id' }))
      await engine.configure(cut, settings)
      await engine.outcome(cut, await engine.upload(documents.slice(third, 2 * third), { primaryKey: 'id' }))
      await engine.apply(
        cut,
        await engine.upload(documents.slice(2 * third, -1), { primaryKey: 'id' }),
        await engine.upload(documents.slice(-1), { primaryKey: 'id' }),
      )
      t.deepEqual(await answers(engine, cut, requests), await answers(engine, index, requests))
    },
  )

  property(
    'a reopened index gives the same answers',
    async (t, engine, index, { requests }) => {
      const before = await answers(engine, index, requests)
      await engine.reopen()
      t.deepEqual(await answers(engine, index, requests), before)
    },
    4,
  )
}

/** A search without paging. */
function withoutPaging(request: SearchBody): SearchBody {
  const { offset: _, limit: __, page: ___, hitsPerPage: ____, ...rest } = request
  return rest
}

const answers = (engine: TestEngine, index: string, requests: readonly SearchBody[]): Promise<unknown[]> =>
  Promise.all(requests.map((request) => answerOf(engine, index, request)))

/** Returns null if the search is refused. */
async function answerOf(
  engine: TestEngine,
  index: string,
  request: SearchBody,
): Promise<SearchAnswer | null> {
  try {
    const { processingTimeMs: _, ...answer } = (await engine.search(index, request)) as SearchAnswer & {
      readonly processingTimeMs: number
    }
    return answer
  } catch (error) {
    if ((error as { code?: string }).code === undefined) throw error
    return null
  }
}
