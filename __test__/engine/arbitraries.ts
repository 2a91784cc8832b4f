/** Random documents, settings and searches: small, and built so that searches often match. */
import fc from 'fast-check'
import type { Document, PartialSettings, SearchBody } from '../support/engine.js'

/** An index and searches on it. */
export interface World {
  readonly settings: PartialSettings
  readonly documents: readonly Document[]
  readonly requests: readonly SearchBody[]
}

// Words that are prefixes, parts, joins and misspellings of each other, in many scripts.
const WORDS = [
  ...['sun', 'sunset', 'set', 'sunsets', 'sunst', 'flower', 'sunflower', 'flowers', 'flow', 'flwoer'],
  ...[
    'motherboard',
    'mohterboard',
    'motherbord',
    'mother',
    'board',
    'keyboard',
    'keybord',
    'jeyboard',
    'mothersboard',
    'boardenkey',
  ],
  ...['the', 'a', 'of', 'new', 'york', 'newyork', 'nyc', 'The', 'OF', 's', 'su', 'b'],
  ...['10', '12345', '12346', '3.5', '-2', '2024', 'x2', '1e5'],
  ...['wi-fi', 'WiFi', 'Été', 'cafe', 'café', 'Straße', 'Łódź', 'Œuvre', 'İzmir', 'naïve'],
  ...['Ёлка', 'елка', 'ΟΔΟΣ', 'οδος', 'שלום', 'سلام', 'मानक', 'l’été', 'user@mail.com', 'C++', 'snake_case'],
  ...['…', '$5', 'x<y', '#', 'Dr.', 'don’t', 'ﬁn', '①', 'Ⅷ', '👍', '𝒳y'],
]
const SEPARATORS = [' ', ' ', ' ', ' ', ', ', '. ', '-', '_', '! ', '  ', '\n', "'", ': ', ' / ', '\u00a0']

const word = fc.constantFrom(...WORDS)

/** Words with separators between them. */
function textOf(words: fc.Arbitrary<string>, least: number, most: number): fc.Arbitrary<string> {
  return fc
    .array(fc.tuple(words, fc.constantFrom(...SEPARATORS)), { minLength: least, maxLength: most })
    .map((parts) => parts.map(([text, separator]) => text + separator).join(''))
}

const text = textOf(word, 0, 8).map((joined) => joined.trim())

const number = fc.oneof(
  fc.integer({ min: -3, max: 12 }),
  fc.constantFrom(0.5, 3.5, -0, 1e21, 1e-7, 2 ** 53, 12345),
)
const scalar = fc.oneof(
  { weight: 6, arbitrary: text },
  { weight: 3, arbitrary: number },
  { weight: 1, arbitrary: fc.constantFrom(true, false, null, '', ' ') },
)
const small = fc.oneof(
  { weight: 4, arbitrary: word },
  { weight: 3, arbitrary: number },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(true, null, '', ' ', [], {}, 'SUN', ' sun', 'Sun') },
)
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>({}, [], [[]], [null]) },
)
const nested: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({ x: value, y: value }, { requiredKeys: [] }),
  fc.array(fc.record({ x: value, z: value }, { requiredKeys: [] }), { maxLength: 2 }),
  value,
)
const degrees = (most: number): fc.Arbitrary<number> =>
  fc.integer({ min: -most, max: most }).map((n) => n / 2 + 0.25)
const geo = fc.oneof(
  { weight: 4, arbitrary: fc.record({ lat: degrees(12), lng: degrees(12) }) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, { lat: '1.5', lng: '-2' }, { lat: 0, lng: 180 }) },
)

const document = fc.record(
  {
    title: fc.oneof({ weight: 6, arbitrary: text }, { weight: 1, arbitrary: value }),
    body: fc.oneof(text, value),
    tags: fc.oneof(fc.array(small, { maxLength: 3 }), small),
    n: fc.oneof({ weight: 5, arbitrary: number }, { weight: 2, arbitrary: small }),
    o: nested,
    _geo: geo,
  },
  { requiredKeys: ['title'], noNullPrototype: true },
)

const FIELDS = ['title', 'body', 'tags', 'n', 'o', 'o.x', 'o.z', 'id']
const fields = fc
  .subarray(FIELDS, { minLength: 1 })
  .chain((list) => fc.shuffledSubarray(list, { minLength: 1 }))
const often = <T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 2, arbitrary: other })

const RULES = ['words', 'typo', 'proximity', 'attributeRank', 'sort', 'wordPosition', 'exactness']
const NAMED_RULES = [...RULES, 'relevance', 'n:asc', 'o.x:desc']
const rankingRules = fc.oneof(
  fc.constant(RULES),
  fc.shuffledSubarray(NAMED_RULES, { minLength: 1 }),
  fc.shuffledSubarray(['words', 'typo', 'proximity', 'attribute', 'sort', 'exactness', 'n:desc'], {
    minLength: 1,
  }),
)

const settings: fc.Arbitrary<PartialSettings> = fc.record({
  searchableAttributes: often<readonly string[]>(['*'], fields),
  displayedAttributes: often<readonly string[]>(['*'], fields),
  filterableAttributes: fc.constantFrom<PartialSettings['filterableAttributes'] & object>(
    ['title', 'tags', 'n', 'o', '_geo'],
    ['tags', 'n', 'o.x', '_geo'],
    [
      {
        attributePatterns: ['t*'],
        features: { facetSearch: true, filter: { equality: true, comparison: true } },
      },
      {
        attributePatterns: ['*'],
        features: { facetSearch: true, filter: { equality: true, comparison: true } },
      },
      '_geo',
    ],
  ),
  sortableAttributes: fc.constant(['n', 'title', 'tags', 'o.x', '_geo']),
  rankingRules,
  stopWords: often<readonly string[]>([], fc.constant(['the', 'of', 'a'])),
  synonyms: often<Readonly<Record<string, readonly string[]>>>(
    {},
    fc.constant({ nyc: ['new york', 'newyork'], 'new york': ['nyc'], sun: ['flower'], board: ['key board'] }),
  ),
  typoTolerance: often<PartialSettings['typoTolerance'] & object>(
    {},
    fc.record(
      {
        enabled: fc.boolean(),
        minWordSizeForTypos: fc.constantFrom({ oneTypo: 5, twoTypos: 9 }, { oneTypo: 3, twoTypos: 6 }),
        disableOnWords: fc.constantFrom<readonly string[]>([], ['sunset', 'keyboard']),
        disableOnAttributes: fc.constantFrom<readonly string[]>([], ['title'], ['o']),
        disableOnNumbers: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
  ),
  separatorTokens: often<readonly string[]>([], fc.constantFrom(['<'], ['s'], ['&&', '<'])),
  nonSeparatorTokens: often<readonly string[]>([], fc.constantFrom(['_'], ['-', '@'], ['. '])),
  dictionary: often<readonly string[]>([], fc.constantFrom(['wi-fi'], ['Dr.', 'C++'], ['new york'])),
  proximityPrecision: often<'byWord' | 'byAttribute'>('byWord', fc.constant('byAttribute')),
  prefixSearch: often<'indexingTime' | 'disabled'>('indexingTime', fc.constant('disabled')),
  distinctAttribute: often<string | null>(null, fc.constantFrom('tags', 'n', 'o.x')),
  faceting: often<PartialSettings['faceting'] & object>(
    {},
    fc.record({
      maxValuesPerFacet: fc.constantFrom(1, 3, 100),
      sortFacetValuesBy: fc.constantFrom<Readonly<Record<string, 'alpha' | 'count'>>>(
        { '*': 'alpha' },
        { '*': 'count' },
        { '*': 'alpha', n: 'count' },
      ),
    }),
  ),
  pagination: often({ maxTotalHits: 1000 }, fc.constant({ maxTotalHits: 4 })),
  searchCutoffMs: fc.constant(600_000),
  attributeWeights: often<Readonly<Record<string, number>>>(
    {},
    fc.constantFrom<Readonly<Record<string, number>>>({ title: 3 }, { o: 0.3, 'o.x': 7.5 }),
  ),
  stemming: often<readonly string[]>([], fc.constantFrom(['eng'], ['deu', 'eng'], ['fra'])),
  compounds: often<readonly string[]>([], fc.constantFrom(['deu'], ['swe', 'fin'])),
  stopWordLists: often<readonly string[]>([], fc.constant(['eng'])),
  matchingStrategy: often<'last' | 'any'>('last', fc.constant('any')),
})

/** Words as users type them: misspelt, truncated, quoted, negated. */
const typed = fc.tuple(word, fc.integer({ min: 0, max: 11 }), fc.nat(12)).map(([text, how, where]) => {
  const letters = Array.from(text)
  const at = Math.min(where, letters.length - 1)
  const spliced = (removed: number, ...added: string[]): string =>
    letters.toSpliced(at, removed, ...added).join('')
  switch (how) {
    case 0:
      return spliced(1)
    case 1:
      return spliced(0, 'e')
    case 2:
      return at + 1 < letters.length ? spliced(2, letters[at + 1]!, letters[at]!) : text
    case 3:
      return letters.slice(0, at + 1).join('')
    case 4:
      return `"${text}`
    case 5:
      return `${text}"`
    case 6:
      return `-${text}`
    default:
      return text
  }
})
const q = fc.oneof(
  { weight: 1, arbitrary: fc.constant<string | null>(null) },
  { weight: 9, arbitrary: textOf(typed, 1, 4) },
  { weight: 9, arbitrary: textOf(typed, 1, 4).map((joined) => joined.trim()) },
)

const PATHS = ['title', 'tags', 'n', 'o', 'o.x', 'ghost', 'id']
const operand = fc.oneof(
  word.map((text) => `'${text.replaceAll("'", "\\'")}'`),
  fc.constantFrom('sun', '10', '3.5', "''", '-2', 'true', '1e21', '"SUN"'),
)
const condition = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...PATHS),
      fc.constantFrom('=', '!=', '>', '>=', '<', '<=', ' STARTS WITH ', ' CONTAINS '),
      operand,
    )
    .map((parts) => parts.join(' ')),
  fc
    .tuple(
      fc.constantFrom(...PATHS),
      fc.constantFrom('EXISTS', 'NOT EXISTS', 'IS NULL', 'IS NOT NULL', 'IS EMPTY', 'IS NOT EMPTY'),
    )
    .map((parts) => parts.join(' ')),
  fc.tuple(fc.constantFrom(...PATHS), operand, operand).map(([path, from, to]) => `${path} ${from} TO ${to}`),
  fc
    .tuple(fc.constantFrom(...PATHS), fc.constantFrom('IN', 'NOT IN'), fc.array(operand, { maxLength: 3 }))
    .map(([path, word, list]) => `${path} ${word} [${list.join(', ')}]`),
  fc
    .tuple(degrees(12), degrees(12), fc.constantFrom(0, 100_000, 700_000))
    .map(([lat, lng, metres]) => `_geoRadius(${lat}, ${lng}, ${metres})`),
  fc
    .tuple(degrees(12), degrees(12), degrees(12), degrees(12))
    .map(([a, b, c, d]) => `_geoBoundingBox([${Math.max(a, b)}, ${c}], [${Math.min(a, b)}, ${d}])`),
)
const expression = fc.oneof(
  { weight: 4, arbitrary: condition },
  { weight: 1, arbitrary: fc.tuple(condition, condition).map(([a, b]) => `${a} AND ${b}`) },
  { weight: 1, arbitrary: fc.tuple(condition, condition).map(([a, b]) => `NOT (${a} OR NOT ${b})`) },
)
const filter = fc.oneof(
  expression,
  fc.tuple(expression, expression, expression).map(([a, b, c]): SearchBody['filter'] => [a, [b, c]]),
)

const sort = fc.uniqueArray(
  fc.oneof(
    fc
      .tuple(fc.constantFrom('n', 'title', 'tags', 'o.x'), fc.constantFrom('asc', 'desc'))
      .map((parts) => parts.join(':')),
    fc
      .tuple(degrees(12), degrees(12), fc.constantFrom('asc', 'desc'))
      .map(([lat, lng, way]) => `_geoPoint(${lat}, ${lng}):${way}`),
  ),
  { minLength: 1, maxLength: 2 },
)

const request = fc.record(
  {
    q,
    filter,
    sort,
    facets: fc.constantFrom(['*'], ['tags', 'n'], ['o'], ['o.x']),
    matchingStrategy: fc.constantFrom('last', 'all', 'frequency', 'any', null),
    attributesToSearchOn: fc.constantFrom(['title'], ['title', 'body'], ['o'], ['*'], ['o.x', 'n'], ['t*']),
    attributesToRetrieve: fc.constantFrom(['id'], ['id', 'title'], ['o'], ['o.x', 'id'], []),
    attributesToHighlight: fc.constantFrom(['*'], ['title', 'tags'], ['o']),
    attributesToCrop: fc.constantFrom(['*'], ['title:2', 'body'], ['o.x:3']),
    cropLength: fc.constantFrom(0, 1, 3, 10),
    showMatchesPosition: fc.boolean(),
    showRankingScoreDetails: fc.constant(true),
    distinct: fc.constantFrom('tags', 'n', 'o.x'),
    rankingScoreThreshold: fc.constantFrom(0, 0.3, 0.7, 0.95),
    offset: fc.constantFrom(0, 1, 3),
    limit: fc.constantFrom(0, 1, 2, 5, 20),
    page: fc.constantFrom(0, 1, 2),
    hitsPerPage: fc.constantFrom(0, 1, 3, 20),
    features: fc.constant({
      containsFilter: true,
      legacySearch: false,
      multimodal: false,
      foreignKeys: false,
    }),
  },
  { requiredKeys: ['q', 'features'], noNullPrototype: true },
) as fc.Arbitrary<SearchBody>

/**
 * Excludes a case in which the engines may differ: when pages are counted exactly below a threshold, duplicates are
 * determined in docid order in one engine and in ranked order in the other. Recorded answers allow both.
 */
const comparable = request.map((body): SearchBody => {
  const { rankingScoreThreshold: _, ...rest } = body
  return body.page === undefined && body.hitsPerPage === undefined ? body : rest
})

/** @param requests maximum number of requests per index */
export function worlds(requests: number): fc.Arbitrary<World> {
  return fc.record({
    settings,
    documents: fc
      .array(document, { minLength: 1, maxLength: 14 })
      .map((list) => list.map((item, at) => ({ id: at + 1, ...item }))),
    requests: fc.array(comparable, { minLength: 1, maxLength: requests, size: 'max' }),
  })
}
