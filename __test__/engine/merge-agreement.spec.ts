/** Both engines merge federated hits, scale hits and find facet values in the same way. */

import { completeRequest, type SearchBody, TestEngine } from '../support/engine.js'
import { fallback, native } from '../support/engines.js'
import fc from '../support/property.js'
import { testNeeding } from '../support/test-needing.js'
import { worlds } from './arbitraries.js'

const RUNS = 10
const REQUESTS = 30

const utf8 = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

/** Actions of dynamic search rules that scale documents. */
const scales = fc.array(
  fc.record({
    ruleUid: fc.constantFrom('r', 's'),
    weight: fc.constantFrom(0, 1e-20, 0.5, 1, 2, 3),
    ids: fc.array(fc.constantFrom('1', '2', '3', 'x'), { maxLength: 2 }),
    filter: fc.constantFrom(null, 'n > 1', 'tags = a', 'unknown = 1'),
  }),
  { maxLength: 3 },
)
/** A query of a federation: number of the request, sort, index and weight. */
const query = fc.record({
  scales: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, scales),
  request: fc.nat(),
  sorted: fc.boolean(),
  second: fc.boolean(),
  weight: fc.constantFrom(0, 0.5, 1, 1, 2),
})
const federation = fc.record({
  queries: fc.array(query, { minLength: 1, maxLength: 3 }),
  paging: fc.oneof(
    fc.record({ kind: fc.constant('offset'), offset: fc.nat(3), limit: fc.nat(12) }),
    fc.record({ kind: fc.constant('page'), page: fc.nat(3), hitsPerPage: fc.integer({ min: 1, max: 5 }) }),
  ),
  facets: fc.boolean(),
  mergeFacets: fc.constantFrom(null, { maxValuesPerFacet: null }, { maxValuesPerFacet: 2 }),
  distinct: fc.constantFrom(null, null, 'tags', 'n'),
  showScoreValues: fc.boolean(),
})
const facetSearch = fc.record({
  request: fc.nat(),
  facetName: fc.constantFrom('tags', 'title', 'o.x', 'o'),
  facetQuery: fc.constantFrom(null, '', 'a', 'e', 'ab', 'abcde', 'ti', 'é', 'Ö', ' ', 'flowre', 'kayboard'),
  exhaustiveFacetCount: fc.boolean(),
  scales,
  pins: fc.array(fc.record({ id: fc.constantFrom('1', '2', '3', 'x'), position: fc.nat(4) }), {
    maxLength: 2,
  }),
})
const cases = fc.record({
  worlds: fc.tuple(worlds(REQUESTS), worlds(1)),
  federations: fc.array(federation, { minLength: REQUESTS, maxLength: REQUESTS }),
  facetSearches: fc.array(facetSearch, { minLength: REQUESTS, maxLength: REQUESTS }),
})

/** A request without the options that a federation handles itself: paging, facets and distinct. */
function bare(
  { offset, limit, page, hitsPerPage, facets, distinct, sort, ...rest }: SearchBody,
  sorted: boolean,
) {
  const shown = { showRankingScore: true, showRankingScoreDetails: true }
  return completeRequest({ ...rest, ...(sorted && sort !== undefined && { sort }), ...shown })
}

/**
 * Returns an answer without its processing time, or the code of an error. Parsed, since engines may print 5 or 5.0 in
 * score values.
 */
async function outcomeOf(answer: Promise<{ readonly body: Uint8Array }>): Promise<string> {
  try {
    const { processingTimeMs: _, ...rest } = JSON.parse(Buffer.from((await answer).body).toString()) as {
      readonly processingTimeMs?: number
    }
    return JSON.stringify(rest)
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return `refused: ${code ?? message}`
  }
}

testNeeding(native.needs)(
  'federations, scaled searches and facet searches have the same answers in both engines',
  async (t) => {
    const engines = [await TestEngine.start(t, native.open), await TestEngine.start(t, fallback.open)]
    let answered = 0
    let difference: string | null = null
    const compare = async (input: unknown, ask: (engine: TestEngine) => Promise<{ body: Uint8Array }>) => {
      const [byNative, byFallback] = await Promise.all(engines.map((engine) => outcomeOf(ask(engine))))
      if (byNative !== byFallback)
        difference ??= `${JSON.stringify(input)}\nnative: ${byNative}\nfallback: ${byFallback}`
      if (!byNative?.startsWith('refused')) answered++
    }
    await fc.check(
      fc.asyncProperty(cases, async ({ worlds: [world, other], federations, facetSearches }) => {
        for (const engine of engines)
          for (const [index, { documents }] of [
            ['one', world],
            ['two', other],
          ] as const) {
            await engine.configure(index, world.settings)
            await engine.outcome(index, await engine.upload(documents, { primaryKey: 'id' }))
          }
        const requestAt = (at: number): SearchBody => world.requests[at % world.requests.length]!
        for (const { queries, facets, distinct, ...rest } of federations) {
          const searches = queries.map(({ request, sorted, second, scales }) => ({
            index: second ? 'two' : 'one',
            request: utf8({ ...bare(requestAt(request), sorted), scales }),
          }))
          const body = {
            ...rest,
            distinct,
            facetsByIndex: facets ? { one: ['tags', 'n'], two: ['*'] } : {},
            showPerformanceDetails: false,
            requestUid: 'u',
            metadata: null,
            weights: queries.map(({ weight }) => weight),
            positions: queries.map((_, at) => at),
            origin: null,
          }
          const input = [searches.map(({ request }) => Buffer.from(request).toString()), body]
          await compare(input, ({ engine }) => engine.multiSearch(searches, utf8(body)))
          for (const { request, scales } of queries) {
            const scaled = { ...completeRequest(requestAt(request)), scales, showRankingScoreDetails: true }
            await compare(scaled, ({ engine }) => engine.search('one', utf8(scaled)))
          }
        }
        for (const { request, ...rest } of facetSearches) {
          const body = { ...completeRequest(requestAt(request)), ...rest }
          await compare(body, ({ engine }) => engine.facetSearch('one', utf8(body)))
        }
        for (const { engine } of engines) for (const index of ['one', 'two']) await engine.drop(index)
        return difference === null
      }),
      { numRuns: RUNS, endOnFailure: true },
    )
    t.is(difference, null)
    // Most sorts and filters only suit the settings of other worlds; the successful ones are enough.
    t.true(answered > (RUNS * REQUESTS) / 2, String(answered))
  },
)
