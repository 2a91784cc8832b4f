import test from 'ava'
import { shortDiff } from '../../ts/transfer/compare/short-diff.js'

const counts = (number: number) => Object.fromEntries([...Array(number).keys()].map((at) => [`v${at}`, at]))

const cases: readonly (readonly [
  kind: Parameters<typeof shortDiff>[0]['kind'],
  left: unknown,
  right: unknown,
  line: string,
])[] = [
  ['refusal', 'answered', 'invalid_search_sort', 'answered and invalid_search_sort'],
  ['ids', ['1', '2', '3'], ['3', '2', '4'], 'only left 1; only right 4'],
  ['ids', [], ['4'], 'only right 4'],
  ['ids', ['1', '1'], ['1'], 'position 2: 1 and none'],
  [
    'ids',
    Object.keys(counts(12)).map((id) => `"${id}x"`),
    [],
    'only left "v0x", "v1x", "v2x", "v3x", "v4x", "v5x", "v6x", "v7x", "v8x", "v9x", … 2 more',
  ],
  ['order', ['1', '2', '3'], ['1', '3', '2'], 'position 2: 2 and 3; 2 positions differ'],
  ['scores', [1, 0.5], [1, 0.25], 'position 2: 0.5 and 0.25'],
  ['total', { estimatedTotalHits: 3 }, { estimatedTotalHits: 4 }, 'estimatedTotalHits 3 and 4'],
  [
    'facets',
    { facetDistribution: { year: { 1972: 1, 1979: 2 } }, facetStats: { year: { min: 1972, max: 1979 } } },
    {
      facetDistribution: { year: { 1972: 1, 1979: 3, 2002: 1 } },
      facetStats: { year: { min: 1972, max: 2002 } },
    },
    'year.1979 2 and 3; year.2002 none and 1; year.max 1979 and 2002',
  ],
  ['facets', { facetDistribution: { year: counts(3) } }, { facetDistribution: {} }, 'year {3} and none'],
  [
    'facets',
    { facetDistribution: { year: counts(9) } },
    { facetDistribution: { year: {} } },
    'year.v0 0 and none; year.v1 1 and none; year.v2 2 and none; year.v3 3 and none; year.v4 4 and none; … 4 more',
  ],
]

for (const [kind, left, right, line] of cases)
  test(`${kind}: ${line}`, (t) => {
    t.is(shortDiff({ kind, left, right }), line)
  })
