/** Checks how soon a fallback search ends after its deadline, counted in deadline checks. */
import test from 'ava'
import { encodeRequest } from '../../ts/engine/encoding.js'
import { LocalEngine } from '../../ts/engine/fallback/engine.js'
import { completeRequest, type SearchAnswer, TestEngine } from '../support/engine.js'
import fc from '../support/property.js'

/** A stop signal that is set after `checksMax` checks. */
class Clock {
  checks = 0
  readonly checksMax: number

  constructor(checksMax: number) {
    this.checksMax = checksMax
  }

  get aborted(): boolean {
    return ++this.checks > this.checksMax
  }
}

const WORDS = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'hazel', 'inlet', 'jetty']
/** Number of ranking rules of a default index, each of which may do one more check. */
const RULES_MAX = 9

async function searched(engine: LocalEngine, q: string, clock: Clock): Promise<SearchAnswer> {
  const request = encodeRequest(completeRequest({ q, limit: 50 }))
  const { body, facts } = await engine.search('things', request, clock)
  if (facts.degraded !== clock.checks > clock.checksMax)
    throw new Error('`degraded` does not match the deadline')
  return JSON.parse(Buffer.from(body).toString()) as SearchAnswer
}

/** @param documents texts of the documents */
async function indexOf(
  documents: readonly string[],
): Promise<{ engine: LocalEngine; stop: () => Promise<void> }> {
  let local: LocalEngine | null = null
  const tested = await TestEngine.open(async (directory) => {
    local = await LocalEngine.open({ directory }, () => undefined)
    return local
  })
  await tested.put('things', ...documents.map((t, id) => ({ id, t })))
  return { engine: local!, stop: () => tested.stop() }
}

test('a ranking rule checks the deadline for every word of a query', async (t) => {
  const { engine, stop } = await indexOf(Array.from({ length: 30 }, () => WORDS.join(' ')))
  try {
    const clock = new Clock(Number.POSITIVE_INFINITY)
    await searched(engine, WORDS.join(' '), clock)
    // Typo, proximity and attribute rules process all words. All documents are equal, so there are few buckets.
    t.true(clock.checks >= 3 * WORDS.length, String(clock.checks))
  } finally {
    await stop()
  }
})

test('a search ends at once at any deadline and loses no document', async (t) => {
  const sentence = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 10 })
  const texts = fc.sample(sentence, { numRuns: 50, seed: 7 }).map((words) => words.join(' '))
  const { engine, stop } = await indexOf(texts)
  try {
    await fc.assert(
      fc.asyncProperty(sentence, fc.nat(200), async (words, checksMax) => {
        const q = words.join(' ')
        const complete = await searched(engine, q, new Clock(Number.POSITIVE_INFINITY))
        const clock = new Clock(checksMax)
        const stopped = await searched(engine, q, clock)
        t.deepEqual(
          stopped.hits.map(({ id }) => id as number).sort((a, b) => a - b),
          complete.hits.map(({ id }) => id as number).sort((a, b) => a - b),
        )
        t.is(stopped.estimatedTotalHits, complete.estimatedTotalHits)
        t.true(clock.checks - checksMax <= RULES_MAX, `${clock.checks} checks, deadline after ${checksMax}`)
      }),
      { numRuns: 200 },
    )
  } finally {
    await stop()
  }
})
