/** Acceptance cases of dynamic search rules. Source: the API's page on version 1.57. */

export const films = [
  { id: 'a', title: 'Batman Returns', series: 'batman', year: 1992 },
  { id: 'b', title: 'Batman and Superman', series: 'superman', year: 1978 },
  { id: 'c', title: 'Batman and Robin', series: 'other', year: 1997 },
  { id: 'd', title: 'Batman Forever', series: 'batman', year: 1995 },
]
/** Vectors of the same documents: those nearest to (1, 0) come first. */
export const vectors = { a: [1, 0], b: [0.9, 0.1], c: [0.5, 0.5], d: [0, 1] } as const

const Q3 = 'batman and superman'
const series = (value: string) => ({ scale: [{ weight: 4, filter: `series = ${value}` }] })
const weigh = (weight: number, ...ids: string[]) => ({ scale: [{ weight, ids }] })
const pin = (id: string, position = 0) => ({ pin: [{ id, position }] })
const years = { sort: ['year:asc'] }
const yesterday = new Date(Date.now() - 86_400_000).toISOString()
const tomorrow = new Date(Date.now() + 86_400_000).toISOString()

/** A rule without its uid: actions, and further members. */
type Given = Readonly<Record<string, unknown>>

export interface RuleCase {
  readonly name: string
  readonly rules: Readonly<Record<string, Given>>
  /** Default index: `films`. */
  readonly index?: string
  readonly search: Given
  /** Ids of the hits. */
  readonly ids: string
  readonly total?: number
  readonly facets?: object
  /** Members of the score details by document id; undefined members are absent. `wordsAt`: `order` of the rule words. */
  readonly details?: Readonly<Record<string, Given>>
}

export const effects: readonly RuleCase[] = [
  { name: 'no rule', rules: {}, search: { q: Q3 }, ids: 'bcad' },
  { name: 'no rule, one word', rules: {}, search: { q: 'batman' }, ids: 'adbc' },
  {
    name: 'a boost moves documents up and is the first detail',
    rules: { r: { actions: series('batman') } },
    search: { q: Q3 },
    ids: 'adbc',
    details: {
      a: { scale: { order: 0, actions: [{ ruleUid: 'r', weight: 4 }], totalWeight: 4 }, wordsAt: 1 },
      b: { scale: undefined, wordsAt: 0 },
      c: { scale: undefined, wordsAt: 0 },
    },
  },
  {
    name: 'weight 0 hides a document from hits, totals and facets',
    rules: { r: { actions: weigh(0, 'b') } },
    search: { q: 'batman', facets: ['series'] },
    ids: 'adc',
    total: 3,
    facets: { series: { batman: 2, other: 1 } },
  },
  {
    name: 'weight 0 hides a document from pages',
    rules: { r: { actions: weigh(0, 'b') } },
    search: { q: 'batman', hitsPerPage: 1, page: 3 },
    ids: 'c',
    total: 3,
  },
  {
    name: 'a pin shows a hidden document',
    rules: { r: { actions: weigh(0, 'b') }, s: { actions: pin('b') } },
    search: { q: 'batman' },
    ids: 'badc',
    total: 4,
    details: { b: { pin: { order: 0, position: 0 }, scale: undefined } },
  },
  {
    name: 'weights of several rules multiply, in order of precedence',
    rules: {
      r: { actions: weigh(2, 'a'), precedence: 2 },
      s: { actions: weigh(3, 'a'), precedence: 1 },
    },
    search: { q: Q3 },
    ids: 'abcd',
    details: {
      a: {
        scale: {
          order: 0,
          actions: [
            { ruleUid: 's', weight: 3 },
            { ruleUid: 'r', weight: 2 },
          ],
          totalWeight: 6,
        },
      },
    },
  },
  {
    name: 'an action selects by ids or by filter, each document once',
    rules: { r: { actions: { scale: [{ weight: 4, ids: ['a'], filter: 'series = batman' }] } } },
    search: { q: Q3 },
    ids: 'adbc',
    details: { a: { scale: { order: 0, actions: [{ ruleUid: 'r', weight: 4 }], totalWeight: 4 } } },
  },
  {
    name: 'an action that selects nothing has no effect',
    rules: {
      r: { actions: { scale: [{ weight: 0 }, { weight: 0, filter: ' ' }, { weight: 0, filter: [[]] }] } },
    },
    search: { q: Q3 },
    ids: 'bcad',
  },
  {
    name: 'an action of another index has no effect',
    rules: { r: { actions: { scale: [{ weight: 0, ids: ['a'], indexUid: 'other' }] } } },
    search: { q: Q3 },
    ids: 'bcad',
  },
  {
    name: 'a filter on an attribute that is not filterable selects nothing',
    rules: { r: { actions: { scale: [{ weight: 0, filter: 'title = x OR title != x' }] } } },
    search: { q: Q3 },
    ids: 'bcad',
  },
  {
    name: 'a leading sort is not scaled',
    rules: { r: { actions: weigh(100, 'd') } },
    index: 'sorted',
    search: { q: 'batman', ...years },
    ids: 'badc',
  },
  {
    name: 'boosted documents come first in a placeholder search, demoted ones last',
    rules: { r: { actions: weigh(2, 'd') }, s: { actions: weigh(0.5, 'a') } },
    search: {},
    ids: 'dbca',
  },
  {
    name: 'the best document after scaling represents its distinct value',
    rules: { r: { actions: weigh(0.1, 'a') } },
    search: { q: 'batman', distinct: 'series' },
    ids: 'dbc',
    total: 3,
  },
  {
    name: 'pages count distinct values once',
    rules: { r: { actions: weigh(0.1, 'a') } },
    search: { q: 'batman', distinct: 'series', hitsPerPage: 1, page: 1 },
    ids: 'd',
    total: 3,
  },
  {
    name: 'a threshold compares scores before scaling',
    rules: { r: { actions: weigh(0.01, 'a', 'b', 'c', 'd') } },
    search: { q: Q3, rankingScoreThreshold: 0.9 },
    ids: 'b',
  },
  {
    name: 'a page is cut from the scaled list',
    rules: { r: { actions: series('batman') } },
    search: { q: Q3, offset: 1, limit: 1 },
    ids: 'd',
  },
  {
    name: 'a hidden document is absent from a hybrid search',
    rules: { r: { actions: weigh(0, 'a') } },
    index: 'vectors',
    search: { q: 'batman', hybrid: { embedder: 'own', semanticRatio: 0.5 }, vector: [1, 0] },
    ids: 'dbc',
  },
  {
    name: 'similarities are scaled',
    rules: { r: { actions: weigh(0, 'a') }, s: { actions: weigh(3, 'd') } },
    index: 'vectors',
    search: { hybrid: { embedder: 'own', semanticRatio: 1 }, vector: [1, 0] },
    ids: 'dbc',
  },
  {
    name: 'pins at one position follow precedence',
    rules: { r: { actions: pin('c'), precedence: 2 }, s: { actions: pin('d'), precedence: 1 } },
    search: { q: Q3 },
    ids: 'dcba',
  },
  {
    name: 'the first pin of a document counts',
    rules: { r: { actions: pin('d', 3), precedence: 2 }, s: { actions: pin('d'), precedence: 1 } },
    search: { q: Q3 },
    ids: 'dbca',
  },
  ...(
    [
      ['series = Batman', 'dabc'.slice(0, 2)],
      ['series IN [batman, other]', 'dca'],
      ['series != batman', 'bc'],
      [null, 'bcad'],
    ] as const
  ).map(([filter, ids]) => ({
    name: `a filter condition with the filter ${filter}`,
    rules: { r: { conditions: { filter: { values: { series: 'batman' } } }, actions: pin('d') } },
    search: { q: Q3, filter },
    ids,
  })),
  {
    name: 'a time in the past',
    rules: { r: { conditions: { time: { end: yesterday } }, actions: pin('d') } },
    search: { q: Q3 },
    ids: 'bcad',
  },
  {
    name: 'a time that began in the past',
    rules: { r: { conditions: { time: { start: yesterday } }, actions: pin('d') } },
    search: { q: Q3 },
    ids: 'dbca',
  },
  {
    name: 'excluded words do not meet a condition on words',
    rules: { r: { conditions: { query: { words: 'batman robin' } }, actions: pin('d') } },
    search: { q: 'batman -robin' },
    ids: 'adb',
  },
  {
    name: 'a hundred actions of one search count, those of the lowest precedence',
    rules: { r: { actions: { scale: Array.from({ length: 150 }, () => ({ weight: 1.01, ids: ['d'] })) } } },
    search: { q: Q3 },
    ids: 'bdca',
    details: {
      d: {
        scale: {
          order: 0,
          actions: Array.from({ length: 100 }, () => ({ ruleUid: 'r', weight: 1.01 })),
          totalWeight: Array.from({ length: 100 }).reduce((product: number) => product * 1.01, 1),
        },
      },
    },
  },
]

const patch = '/dynamic-search-rules/r'
const actions = 'invalid_dynamic_search_rule_actions'
/** Body of PATCH, code of the refusal, and text of the message. */
export const refusedRules: readonly (readonly [body: unknown, code: string, names?: string])[] = [
  [{ priority: 1 }, 'bad_request', '`precedence`'],
  [{ conditions: [{ scope: 'query', contains: 'x' }] }, 'invalid_dynamic_search_rule_conditions', 'words'],
  [{ actions: { pin: [{ id: 'a' }] } }, actions, '.actions.pin[0]'],
  [{ actions: { pin: [{ id: 'a', position: -1 }] } }, actions],
  [{ actions: { pin: [{ id: 'a', position: 4_294_967_296 }] } }, actions],
  [{ actions: { scale: [{ ids: ['a'] }] } }, actions, '.actions.scale[0]'],
  [{ actions: { scale: [{ weight: -1 }] } }, actions, '-1'],
  [{ actions: { scale: [{ weight: '2' }] } }, actions],
  [{ actions: { scale: [{ weight: 2, filter: 'series =' }] } }, actions, '.actions.scale[0].filter'],
  [{ actions: { scale: [{ weight: 2, filter: '_foreign(a, b = 1)' }] } }, actions, '_foreign'],
  [{ actions: { scale: [{ weight: 2, filter: `a = ${'b'.repeat(70_000)}` }] } }, actions, '65536'],
  [{ actions: { scale: [{ weight: 2, indexUid: 'a b' }] } }, actions],
  [{ actions: { hide: [] } }, actions, 'hide'],
  [{ precedence: -1 }, 'invalid_dynamic_search_rule_priority'],
  [{ conditions: { query: { isEmpty: true, words: 'a' } } }, 'bad_request'],
  [{ conditions: { time: { start: tomorrow, end: yesterday } } }, 'bad_request'],
]
/** Body of PATCH, and the members of the rule afterwards. Undefined members must be absent. */
export const acceptedRules: readonly (readonly [body: object, rule: object])[] = [
  [
    { actions: { scale: [{ weight: 0.5, ids: null, filter: 'series = batman', indexUid: 'films' }] } },
    { actions: { scale: [{ weight: 0.5, filter: 'series = batman', indexUid: 'films' }] } },
  ],
  [
    { actions: { scale: [{ weight: 0, ids: ['a', 7], filter: [['series = batman', 'series = other']] }] } },
    { actions: { scale: [{ weight: 0, ids: ['a', '7'], filter: [['series = batman', 'series = other']] }] } },
  ],
  [{ actions: {} }, { actions: {} }],
  [{ actions: null }, { actions: {} }],
  [{ actions: { pin: [], scale: [] } }, { actions: {} }],
  [
    { actions: [{ selector: { id: 'a', indexUid: 'films' }, action: { type: 'pin', position: 1 } }] },
    { actions: { pin: [{ id: 'a', position: 1, indexUid: 'films' }] } },
  ],
  [
    { description: 'x', conditions: { query: { isEmpty: false, words: 'a' }, time: null } },
    {
      description: 'x',
      conditions: { query: { isEmpty: false, words: 'a' } },
      actions: { pin: [{ id: 'a', position: 1, indexUid: 'films' }] },
    },
  ],
]
export const rulePath = patch

/** Inline rule without uid, search, hits, and outcomes of its conditions. */
export const inline: readonly {
  readonly rule: Given
  readonly search: Given
  readonly ids: string
  readonly outcomes: Given
}[] = [
  {
    rule: { actions: pin('c') },
    search: { q: 'batman' },
    ids: 'cadb',
    outcomes: { satisfiesActiveCondition: true },
  },
  {
    rule: { actions: pin('c'), active: false },
    search: { q: 'batman' },
    ids: 'adbc',
    outcomes: { satisfiesActiveCondition: false },
  },
  {
    rule: { actions: pin('c'), conditions: { query: { words: 'batman man' } } },
    search: { q: 'batman x' },
    ids: 'adbc',
    outcomes: {
      satisfiesActiveCondition: true,
      satisfiesQueryWordsCondition: { missingWord: { word: 'man' } },
    },
  },
  ...(
    [
      [true, 'batman', 'adbc', 'queryNotEmpty'],
      [false, '', 'abcd', 'queryEmpty'],
      [true, '', 'cabd', 'satisfied'],
    ] as const
  ).map(([isEmpty, q, ids, outcome]) => ({
    rule: { actions: pin('c'), conditions: { query: { isEmpty } } },
    search: { q },
    ids,
    outcomes: { satisfiesActiveCondition: true, satisfiesQueryEmptyCondition: outcome },
  })),
  ...(
    [
      [{ start: tomorrow }, 'adbc', 'tooEarly'],
      [{ end: yesterday }, 'adbc', 'tooLate'],
      [{ start: yesterday, end: tomorrow }, 'cadb', 'satisfied'],
    ] as const
  ).map(([time, ids, outcome]) => ({
    rule: { actions: pin('c'), conditions: { time } },
    search: { q: 'batman' },
    ids,
    outcomes: { satisfiesActiveCondition: true, satisfiesTimeCondition: outcome },
  })),
  ...(
    [
      [null, 'adbc', 'noFilter'],
      ['series = batman', 'ad', { missingValue: { attribute: 'year', value: '1992' } }],
      ['series = batman AND year = 1992', 'a', 'satisfied'],
    ] as const
  ).map(([filter, ids, outcome]) => ({
    rule: { actions: pin('c'), conditions: { filter: { values: { series: 'batman', year: 1992 } } } },
    search: { q: 'batman', filter },
    ids,
    outcomes: { satisfiesActiveCondition: true, satisfiesFilterCondition: outcome },
  })),
]

/** Refused inline rules, and text of the message. */
export const refusedInline: readonly (readonly [rule: unknown, names: string])[] = [
  [{ actions: {} }, 'uid'],
  [{ uid: 'i', description: 'x' }, 'description'],
  [{ uid: '__meilisearch_metadata' }, 'reserved'],
  [{ uid: 'i', actions: { scale: [{ weight: -1 }] } }, '.inlineRule.actions.scale[0].weight'],
  [{ uid: 'i', actions: [] }, '.inlineRule.actions'],
  [{ uid: 'i', conditions: { query: { isEmpty: true, words: 'a' } } }, '.inlineRule.conditions.query'],
]
