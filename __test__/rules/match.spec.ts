import test from 'ava'
import type { FilterValue } from '../../ts/engine/index.js'
import {
  type Conditions,
  changedRules,
  defaultRuleBudgets,
  pinsFor,
  type Rule,
  type RuleBudgets,
} from '../../ts/rules/index.js'

const rule = (uid: string, rest: Partial<Rule> = {}): Rule => ({
  uid,
  description: null,
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  precedence: null,
  active: true,
  conditions: {},
  actions: [{ selector: { id: uid }, action: { type: 'pin', position: 0 } }],
  ...rest,
})
const search = (rest: { q?: string; filter?: FilterValue; at?: string } = {}) => ({
  indexUid: 'films',
  q: rest.q ?? null,
  filter: rest.filter ?? null,
  now: Date.parse(rest.at ?? '2026-06-01T00:00:00Z'),
})
const meets = (conditions: Conditions, asked: Parameters<typeof search>[0]): boolean =>
  pinsFor([rule('x', { conditions })], search(asked)).length === 1

interface Case {
  readonly name: string
  readonly conditions: Conditions
  readonly yes: readonly NonNullable<Parameters<typeof search>[0]>[]
  readonly no: readonly NonNullable<Parameters<typeof search>[0]>[]
}

const cases: readonly Case[] = [
  { name: 'no condition holds always', conditions: {}, yes: [{}, { q: 'any' }], no: [] },
  {
    name: 'times bound it on both sides',
    conditions: { time: { start: '2026-02-01T00:00:00Z', end: '2026-03-01T00:00:00+01:00' } },
    yes: [{ at: '2026-02-01T00:00:00Z' }, { at: '2026-02-28T23:00:00Z' }],
    no: [{ at: '2026-01-31T23:59:59Z' }, { at: '2026-02-28T23:30:00Z' }],
  },
  {
    name: 'a blank query is an empty one',
    conditions: { query: { isEmpty: true } },
    yes: [{}, { q: '  ' }],
    no: [{ q: 'a' }],
  },
  {
    name: 'isEmpty false wants a query',
    conditions: { query: { isEmpty: false } },
    yes: [{ q: 'a' }],
    no: [{}],
  },
  {
    name: 'all words are wanted, in any order, whatever their case and accents',
    conditions: { query: { words: 'Café Noir' } },
    yes: [{ q: 'noir, CAFE!' }, { q: 'le café au soir noir' }],
    no: [{ q: 'cafe' }, { q: 'cafe cafe' }, { q: 'cafes noir' }, {}],
  },
  {
    name: 'words beyond the tenth are not looked at',
    conditions: { query: { words: 'k' } },
    yes: [{ q: 'a b c d e f g h i k' }],
    no: [{ q: 'a b c d e f g h i j k' }],
  },
  {
    name: 'a filter has to ask for every value in one of its ways',
    conditions: { filter: { values: { genre: 'Noir', year: 1941 } } },
    yes: [
      { filter: 'genre = noir AND year = 1941' },
      { filter: ['genre = noir', 'year = 1941'] },
      { filter: 'genre = "NOIR" AND (year = 1940 OR year = 1941)' },
      { filter: 'year IN [1940, 1941] AND genre = noir AND rating > 3' },
    ],
    no: [
      {},
      { filter: 'genre = noir' },
      { filter: 'genre = noir OR year = 1941' },
      { filter: [['genre = noir', 'year = 1941']] },
      { filter: 'genre = noir AND NOT year = 1941' },
      { filter: 'genre = noir AND year >= 1941' },
      { filter: 'genre = = noir' },
    ],
  },
]

for (const { name, conditions, yes, no } of cases) {
  test(`a rule applies: ${name}`, (t) => {
    for (const asked of yes) t.true(meets(conditions, asked), JSON.stringify(asked))
    for (const asked of no) t.false(meets(conditions, asked), JSON.stringify(asked))
  })
}

test('rules act by precedence, those without one last, and the first pin of a document counts', (t) => {
  const pin = (id: string, position: number) => ({
    selector: { id },
    action: { type: 'pin' as const, position },
  })
  const rules = [
    rule('late', { actions: [pin('a', 9), pin('c', 3)] }),
    rule('first', { precedence: 1, actions: [pin('a', 2)] }),
    rule('second', { precedence: 20, actions: [pin('a', 0), pin('b', 1)] }),
    rule('off', { precedence: 0, active: false }),
  ]
  t.deepEqual(pinsFor(rules, search()), [
    { id: 'a', position: 2 },
    { id: 'b', position: 1 },
    { id: 'c', position: 3 },
  ])
})

test('a pin of one index applies to that index alone', (t) => {
  const action = { type: 'pin' as const, position: 0 }
  const rules = [rule('x', { actions: [{ selector: { id: '1', indexUid: 'books' }, action }] })]
  t.deepEqual(pinsFor(rules, search()), [])
  t.deepEqual(pinsFor(rules, { ...search(), indexUid: 'books' }), [{ id: '1', position: 0 }])
})

test('pins beyond the hundredth are left out, and a filter of many alternatives is decided in time', (t) => {
  const actions = Array.from({ length: 300 }, (_, at) => ({
    selector: { id: String(at) },
    action: { type: 'pin' as const, position: at },
  }))
  t.is(pinsFor([rule('x', { actions })], search()).length, 100)
  const many = Array.from({ length: 12 }, () => Array.from({ length: 40 }, (_, at) => `f = ${at}`))
  t.true(meets({ filter: { values: { f: 0 } } }, { filter: many }))
})

test('a change keeps what it does not name and resets what it names as null', (t) => {
  const at = '2026-01-02T00:00:00Z'
  const made = changedRules(
    {},
    'x',
    { description: 'd', precedence: 3, active: false },
    '2026-01-01T00:00:00Z',
  )
  const changed = changedRules(made, 'x', { precedence: null, conditions: { query: { isEmpty: true } } }, at)
  t.deepEqual(changed, {
    x: {
      uid: 'x',
      description: 'd',
      lastUpdatedAt: at,
      precedence: null,
      active: false,
      conditions: { query: { isEmpty: true } },
      actions: [],
    },
  })
  t.deepEqual(changedRules(changed, 'x', null, at), {})
})

/** Budget, how small it is, a search that the rule meets with the default alone. */
const budgets: readonly (readonly [Partial<RuleBudgets>, Conditions, Parameters<typeof search>[0]])[] = [
  [{ countedWordsMax: 1 }, { query: { words: 'solar' } }, { q: 'film solar' }],
  [{ activeRulesMax: 0 }, {}, {}],
  [{ pinsMax: 0 }, {}, {}],
  [{ wordsMax: 1 }, { query: { words: 'solar film' } }, { q: 'solar film' }],
  [{ valuesMax: 1 }, { filter: { values: { genre: ['a', 'b'] } } }, { filter: 'genre = a AND genre = b' }],
  [{ branchesMax: 1 }, { filter: { values: { genre: 'b' } } }, { filter: 'genre = a OR genre = b' }],
  [{ equalitiesMax: 1 }, { filter: { values: { genre: 'b' } } }, { filter: 'genre = a AND genre = b' }],
  [{ levelsMax: 0 }, { filter: { values: { genre: 'b' } } }, { filter: 'genre = a AND genre = b' }],
]

for (const [budget, conditions, asked] of budgets) {
  test(`a rule is beyond the budget ${JSON.stringify(budget)}`, (t) => {
    const rules = [rule('x', { conditions })]
    t.is(pinsFor(rules, search(asked)).length, 1)
    t.is(pinsFor(rules, search(asked), { ...defaultRuleBudgets, ...budget }).length, 0)
  })
}

test('the words of all rules together are within one budget', (t) => {
  const rules = ['a', 'b', 'c'].map((uid) => rule(uid, { conditions: { query: { words: 'solar' } } }))
  const pins = pinsFor(rules, search({ q: 'solar' }), { ...defaultRuleBudgets, wordsMax: 2 })
  t.deepEqual(
    pins.map(({ id }) => id),
    ['a', 'b'],
  )
})
