/** Both engines refuse a filter with the same code and text. */
import type { ExecutionContext } from 'ava'
import { encodeRequest } from '../../ts/engine/encoding.js'
import type { SearchRequest } from '../../ts/engine/requests.js'
import { completeRequest, type PartialSettings, type SearchBody, TestEngine } from '../support/engine.js'
import { fallback, native } from '../support/engines.js'
import { testNeeding } from '../support/test-needing.js'

const on = { containsFilter: true, legacySearch: false, multimodal: true, foreignKeys: true }
const off = { ...on, containsFilter: false, multimodal: false, foreignKeys: false }

const invalidFilters = [
  ...[
    'n',
    'n =',
    'n = AND',
    'AND',
    'n = 1 n',
    'n = 1 )',
    '(n = 1',
    'n = 1 OR',
    'NOT',
    "n = 'x",
    'n = "x" "y"',
  ],
  ...[
    'n IS',
    'n IS NOT',
    'n IS x',
    'n NOT',
    'n NOT x',
    'n STARTS x',
    'n 1',
    'n 1 2',
    "n 'a' 'b'",
    'n AND m = 1',
  ],
  ...[
    'n IN',
    'n IN 1',
    'n IN [1 2]',
    'n IN [1, AND]',
    'n IN [',
    'n IN [=]',
    '= 1',
    '!',
    'n ? 1',
    'n = 💡',
    '💡 = 1',
  ],
  ...[
    '_geo = 1',
    "'_geoPoint' = 1",
    '_geoDistance EXISTS',
    '_geoRadius',
    '_geoRadius = 1',
    '_geoRadius(1, 2)',
  ],
  ...['_geoRadius(1, x, 3)', '_geoRadius(1, 2, 3, 4, 5)', '_geoRadius(1 2 3)', '_geoRadius(Infinity, 2, 3)'],
  ...['_geoBoundingBox([1, 2])', '_geoBoundingBox(1, 2)', '_geoBoundingBox([1, 2], [0, 1], [3, 4])'],
  ...['n = "\\q"', "n = '\\x4'", 'n = "\\u{D800}"', 'n = "\\u{}"', 'n = "\\💡"', 'n = "\\'],
  ...['_geoPolygon([1, 2], [3, 4])', '_geoPolygon()', '_geoPolygon = 1 1'],
  ...['_vectors', '_vectors = 1', '_vectors.a.b. EXISTS', '_vectors..a EXISTS', '_vectors.a NOT NULL'],
  ...['_foreign(a)', '_foreign(a, )', '_foreign(a, b = 1', '_foreign(AND, b = 1)', '_element(a b = 1)'],
  ...[
    '_element(a, _geoRadius(1, 2, 3))',
    '_element(a, b = 1 OR _vectors EXISTS)',
    `n = ${'x'.repeat(100)} y`,
  ],
  ...[
    `${'('.repeat(40)}n = 1`,
    `${'NOT '.repeat(200)}n = 1`,
    `${'x'.repeat(200)} 1 2`,
    '"ä" = "ö',
    'ä = 1 ö',
  ],
]
const needingFeatures = [
  ...['n CONTAINS x', 'n NOT CONTAINS "x y"', '_vectors EXISTS', "_vectors.'a b'.userProvided NOT EXISTS"],
  ...['_foreign(a, b CONTAINS c)', 'n CONTAINS x AND _vectors EXISTS', '_element(a, b CONTAINS c)'],
]

const otherFilters = [
  ...['_geoRadius(91, 2, 3)', '_geoRadius(1, -181, 3)', '_geoRadius(91, 181, 3)', '_geoRadius(1, 2, 3, 2)'],
  ...['_geoRadius(1, 2, 3, 1001)', '_geoBoundingBox([1, 2], [3, 181])', '_geoBoundingBox([1, 2], [3, 4])'],
  ...['_geoPolygon([1, 2], [3, 4], [5, 181])', 'n = 1 AND _geoRadius(91, 2, 3)'],
  ...['_vectors.none EXISTS', '_vectors.none.userProvided EXISTS', '_vectors.v.none EXISTS'],
  ...['_vectors.v.fragments EXISTS', '_vectors.v.fragments.x EXISTS', '_vectors.v.userProvided.x EXISTS'],
  ...['none = 1', 'n = 1 OR none > 2', 'equal > 1', 'equal 1 TO 2', 'ordered = 1', 'ordered IN [1, 2]'],
  ...['ordered = 1 OR ordered = 2', 'NOT ordered != 1', 'equal.below = 1'],
  ...[[['n = 1', 3]], [[['n = 1']]], [{}], [['n = 1'], 'none = 1']],
]

const hybrid = { embedder: 'v', semanticRatio: 0.5 }
const invalidSearches: readonly SearchBody[] = [
  ...otherFilters.map((filter) => ({ filter: filter as SearchRequest['filter'] })),
  ...[
    'n',
    'n:up',
    'none:asc',
    '_geoPoint(91, 2):asc',
    '_geoPoint(1, 181):desc',
    '_geoPoint(1):asc',
    '_geoPoint(1, 2, 3):asc',
    '_geoPoint(nan, 1):asc',
    '_geoPoint(x, 1):asc',
    '_geoPoint:asc',
  ].map((criterion) => ({ sort: [criterion] })),
  ...['_geo:asc', '_geoDistance:asc', '_geoRadius(1, 2):asc', '_geo(1, 2):asc', ':asc', ''].map(
    (criterion) => ({
      sort: ['n:asc', criterion],
    }),
  ),
  ...[['none'], ['n', 'none', 'other'], ['none*'], ['ordered.*', 'x.*']].map((facets) => ({ facets })),
  ...['none', ''].map((distinct) => ({ distinct })),
  ...[['none'], ['title', 'none*'], ['*', 'none'], ['']].map((attributesToSearchOn) => ({
    q: 'a',
    attributesToSearchOn,
  })),
  { q: 'a', hybrid: { ...hybrid, embedder: 'none' } },
  { q: 'a', hybrid: { ...hybrid, semanticRatio: 1 } },
  { q: 'a', hybrid, vector: [1, 2, 3] },
  { q: 'a', hybrid: { ...hybrid, semanticRatio: 1 }, vector: [1, 2], attributesToSearchOn: ['none'] },
]

/** Settings of an index in which many names are invalid. */
const strictSettings: PartialSettings = {
  searchableAttributes: ['title'],
  filterableAttributes: [
    'n',
    { attributePatterns: ['equal'], features: featuresOf({ equality: true, comparison: false }) },
    { attributePatterns: ['ordered'], features: featuresOf({ equality: false, comparison: true }) },
    '_geo',
    '_geojson',
  ],
  sortableAttributes: ['n', '_geo'],
  embedders: { v: { source: 'userProvided', dimensions: 2 } },
}

function featuresOf(filter: { readonly equality: boolean; readonly comparison: boolean }) {
  return { facetSearch: false, filter }
}

const indexes: Readonly<Record<string, PartialSettings>> = {
  strict: strictSettings,
  'with hidden attributes': {
    ...strictSettings,
    searchableAttributes: ['title', 'secret', 'title.en'],
    displayedAttributes: ['title', 'n'],
  },
  'with hidden attributes only': { ...strictSettings, displayedAttributes: ['id'] },
  'without rules': { searchableAttributes: ['title'], embedders: strictSettings.embedders! },
  'without the rule sort': { ...strictSettings, rankingRules: ['words'] },
}

/** Returns code and text of the error with which a call fails, for each engine. */
const refusals = (
  engines: readonly TestEngine[],
  call: (engine: TestEngine) => Promise<unknown>,
): Promise<readonly string[]> =>
  Promise.all(
    engines.map((engine) =>
      call(engine).then(
        () => 'accepted',
        (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
      ),
    ),
  )

const bothEngines = async (t: ExecutionContext): Promise<readonly TestEngine[]> => [
  await TestEngine.start(t, native.open),
  await TestEngine.start(t, fallback.open),
]

testNeeding(native.needs)('an invalid filter is refused with the same text by both engines', async (t) => {
  const engines = await bothEngines(t)
  for (const engine of engines)
    await engine.configure('films', { filterableAttributes: ['n', 'm', 'ä', 'a', '_geo'] })
  for (const [filters, features] of [
    [invalidFilters, on],
    [needingFeatures, off],
  ] as const) {
    for (const filter of filters) {
      const [byNative, byFallback] = await refusals(engines, (engine) =>
        engine.searchText('films', { filter, features }),
      )
      t.not(byNative, 'accepted', filter)
      t.is(byFallback, byNative, filter)
    }
  }
})

for (const [name, settings] of Object.entries(indexes))
  testNeeding(native.needs)(
    `an invalid search of an index ${name} is refused with the same text`,
    async (t) => {
      const engines = await bothEngines(t)
      for (const engine of engines) await engine.configure('films', settings)
      let refused = 0
      for (const body of invalidSearches) {
        const [byNative, byFallback] = await refusals(engines, (engine) =>
          engine.searchText('films', { indexUid: 'films', features: on, ...body }),
        )
        t.is(byFallback, byNative, JSON.stringify(body))
        if (byNative !== 'accepted') refused++
        if (name.includes('hidden'))
          t.notRegex(byNative ?? '', /secret|`equal`, `|`, `ordered`/, JSON.stringify(body))
      }
      t.true(refused >= invalidSearches.length - 3, `${refused} of ${invalidSearches.length}`)
      for (const facetName of ['none', 'equal', '']) {
        const request = {
          ...completeRequest({ indexUid: 'films' }),
          facetName,
          facetQuery: null,
          exhaustiveFacetCount: false,
        }
        const [byNative, byFallback] = await refusals(engines, ({ engine }) =>
          engine.facetSearch('films', encodeRequest(request)),
        )
        t.regex(byNative!, /^invalid_facet_search_facet_name: Index `films`: /)
        t.is(byFallback, byNative, facetName)
      }
    },
  )
