/** Both engines compute the same vector similarities, to the last digit. */

import { TestEngine } from '../support/engine.js'
import { fallback, native } from '../support/engines.js'
import fc from '../support/property.js'
import { testNeeding } from '../support/test-needing.js'

const dimensions = 19
const component = fc.oneof(
  fc.float({ noNaN: true, noDefaultInfinity: true, min: -2, max: 2 }),
  fc.constantFrom(0, 1, -1, 0.5, 1e30, 1e-30),
)
const vector = fc.array(component, { minLength: dimensions, maxLength: dimensions })
const sent = fc.oneof(
  { weight: 5, arbitrary: vector },
  fc.array(vector, { minLength: 1, maxLength: 3 }),
  fc.constant(null),
)
const documents = fc.array(
  fc.record({ v: sent, kind: fc.constantFrom('x', 'y'), t: fc.constantFrom('red', 'blue') }),
  {
    minLength: 1,
    maxLength: 12,
  },
)
const query = fc.record({
  vector,
  q: fc.constantFrom(null, 'red', 'blu'),
  semanticRatio: fc.constantFrom(1, 0.5, 0.2),
  filter: fc.constantFrom(null, 'kind = x'),
  distinct: fc.constantFrom(null, null, 'kind'),
  rankingScoreThreshold: fc.constantFrom(null, null, 0.5),
})

for (const binaryQuantized of [false, true]) {
  testNeeding(native.needs)(
    `native and fallback give the same answers for ${binaryQuantized ? 'binary' : 'float'} vectors`,
    async (t) => {
      const engines = [await TestEngine.start(t, native.open), await TestEngine.start(t, fallback.open)]
      let round = 0
      await fc.assert(
        fc.asyncProperty(
          documents,
          fc.array(query, { minLength: 1, maxLength: 3 }),
          async (rows, queries) => {
            const index = `pts-${++round}`
            const answers = await Promise.all(
              engines.map(async (engine) => {
                const embedders = { v: { source: 'userProvided', dimensions, binaryQuantized } }
                await engine.configure(index, { embedders, filterableAttributes: ['kind'] })
                await engine.put(
                  index,
                  ...rows.map(({ v, ...rest }, id) => ({ id, ...rest, _vectors: { v } })),
                )
                const answered = []
                for (const { semanticRatio, ...search } of queries) {
                  const text = await engine.searchText(index, {
                    ...search,
                    hybrid: { embedder: 'v', semanticRatio },
                    retrieveVectors: true,
                    showRankingScore: true,
                    showRankingScoreDetails: true,
                  })
                  answered.push(text.replace(/"processingTimeMs":\d+,/, ''))
                }
                return answered
              }),
            )
            t.deepEqual(answers[0], answers[1])
          },
        ),
        { numRuns: 40 },
      )
    },
  )
}
