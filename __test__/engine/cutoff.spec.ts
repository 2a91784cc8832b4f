/** How far does a search of the fallback go past its time? Counted in looks at a clock of our own. */
import test from 'ava'
import { encodeRequest } from '../../ts/engine/encoding.js'
import { LocalEngine } from '../../ts/engine/fallback/engine.js'
import { completeRequest, type SearchAnswer, TestEngine } from '../support/engine.js'
import fc from '../support/property.js'

/** Time is up from the look after `looksMax` on. */
class Clock {
  looks = 0
  readonly looksMax: number

  constructor(looksMax: number) {
    this.looksMax = looksMax
  }

  get aborted(): boolean {
    return ++this.looks > this.looksMax
  }
}

const WORDS = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'hazel', 'inlet', 'jetty']
/** Ranking rules of a default index, each of which may be left once. */
const RULES_MAX = 9

async function searched(engine: LocalEngine, q: string, clock: Clock): Promise<SearchAnswer> {
  const request = encodeRequest(completeRequest({ q, limit: 50 }))
  const { body, facts } = await engine.search('things', request, clock)
  if (facts.degraded !== clock.looks > clock.looksMax) throw new Error('degraded, or not, without cause')
  return JSON.parse(Buffer.from(body).toString()) as SearchAnswer
}

/** @param documents texts */
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

test('a ranking rule reads the clock for every word of a query', async (t) => {
  const { engine, stop } = await indexOf(Array.from({ length: 30 }, () => WORDS.join(' ')))
  try {
    const clock = new Clock(Number.POSITIVE_INFINITY)
    await searched(engine, WORDS.join(' '), clock)
    // Typo, proximity and attribute go through all the words; every document is alike, so buckets are few.
    t.true(clock.looks >= 3 * WORDS.length, String(clock.looks))
  } finally {
    await stop()
  }
})

test('at whatever step its time is up, a search ends at once and loses no document', async (t) => {
  const sentence = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 10 })
  const texts = fc.sample(sentence, { numRuns: 50, seed: 7 }).map((words) => words.join(' '))
  const { engine, stop } = await indexOf(texts)
  try {
    await fc.assert(
      fc.asyncProperty(sentence, fc.nat(200), async (words, looksMax) => {
        const q = words.join(' ')
        const whole = await searched(engine, q, new Clock(Number.POSITIVE_INFINITY))
        const clock = new Clock(looksMax)
        const cut = await searched(engine, q, clock)
        t.deepEqual(
          cut.hits.map(({ id }) => id as number).sort((a, b) => a - b),
          whole.hits.map(({ id }) => id as number).sort((a, b) => a - b),
        )
        t.is(cut.estimatedTotalHits, whole.estimatedTotalHits)
        t.true(clock.looks - looksMax <= RULES_MAX, `${clock.looks} looks, time was up after ${looksMax}`)
      }),
      { numRuns: 200 },
    )
  } finally {
    await stop()
  }
})
