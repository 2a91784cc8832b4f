/** Both engines refuse a filter with the same code and text. */
import type { SearchBody } from '../support/engine.js'
import { TestEngine } from '../support/engine.js'
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

testNeeding(native.needs)('an invalid filter is refused with the same text by both engines', async (t) => {
  const engines = [await TestEngine.start(t, native.open), await TestEngine.start(t, fallback.open)]
  for (const engine of engines)
    await engine.configure('films', { filterableAttributes: ['n', 'm', 'ä', 'a', '_geo'] })
  const refusals = (search: SearchBody) =>
    Promise.all(
      engines.map((engine) =>
        engine.searchText('films', search).then(
          () => 'accepted',
          (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
        ),
      ),
    )
  for (const [filters, features] of [
    [invalidFilters, on],
    [needingFeatures, off],
  ] as const) {
    for (const filter of filters) {
      const [byNative, byFallback] = await refusals({ filter, features })
      t.not(byNative, 'accepted', filter)
      t.is(byFallback, byNative, filter)
    }
  }
})
