/**
 * Both engines find the same best documents by relevance, with the same scores, among more documents than they score
 * completely.
 */
import { completeRequest, TestEngine } from '../support/engine.js'
import { fallback, native } from '../support/engines.js'
import { testNeeding } from '../support/test-needing.js'

const DOCUMENTS = 700
const WORDS = (
  'the of and a in light run house iron sea ship harbour gate running lights storm copper kettle wall ' +
  'ships lighthouse gates shop runs irons stormy harbor kettles walls seas'
).split(' ')

/** Documents of frequent and rare words: the nth word is drawn by a square of random numbers. */
function documents() {
  let state = 11
  const below = (bound: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
  const text = (most: number): string =>
    Array.from({ length: 1 + below(most) }, () => WORDS[below(1 + below(WORDS.length))]).join(' ')
  return Array.from({ length: DOCUMENTS }, (_, id) => ({ id, title: text(4), text: text(40), n: below(5) }))
}

const queries = [
  'the light of the house',
  'the love of the man',
  'ships and gates in the storm ',
  'hraboru light ho',
  // Begins `light` and `lights` with a typo: the first is the word itself, the second a longer word.
  'the house ligt',
  'the sea of kettles and copper walls in a stormy harbour with a lighthouse and iron gates',
  '"iron gate" of the sea',
  'run',
  'a',
]

testNeeding(native.needs)(
  'the best of many documents by relevance are the same in both engines',
  async (t) => {
    const engines = [await TestEngine.start(t, native.open), await TestEngine.start(t, fallback.open)]
    for (const engine of engines) {
      await engine.configure('i', {
        searchableAttributes: ['title', 'text'],
        filterableAttributes: ['n'],
        rankingRules: ['relevance', 'n:asc'],
        stemming: ['eng'],
        typoTolerance: { minWordSizeForTypos: { oneTypo: 4, twoTypos: 8 } },
      })
      await engine.outcome('i', await engine.upload(documents(), { primaryKey: 'id' }))
    }
    for (const q of queries)
      for (const part of [{ limit: 20 }, { offset: 190, limit: 30 }, { limit: 20, filter: 'n < 3' }]) {
        const request = completeRequest({
          ...{ q, matchingStrategy: 'any', attributesToRetrieve: ['id'], showRankingScore: true, ...part },
        })
        const answers = engines.map(async ({ engine }) => {
          const { body } = await engine.search('i', Buffer.from(JSON.stringify(request)))
          return (JSON.parse(Buffer.from(body).toString()) as { hits: unknown[] }).hits
        })
        const [byNative, byFallback] = await Promise.all(answers)
        t.true(byNative!.length > 0, q)
        t.deepEqual(byFallback, byNative, `${q} ${JSON.stringify(part)}`)
      }
  },
)
