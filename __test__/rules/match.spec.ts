import test, { type ExecutionContext } from 'ava'
import type { FilterValue } from '../../ts/engine/index.js'
import {
  type Conditions,
  changedRules,
  defaultRuleBudgets,
  effectsOf,
  listedRules,
  type Rule,
  RuleBook,
  type RuleBudgets,
} from '../../ts/tasks/index.js'

const rule = (uid: string, rest: Partial<Rule> = {}): Rule => ({
  uid,
  description: null,
  lastUpdatedAt: '2026-01-01T00:00:00Z',
  precedence: null,
  active: true,
  conditions: {},
  actions: { pin: [{ id: uid, position: 0 }] },
  ...rest,
})
const search = (rest: { q?: string; filter?: FilterValue; at?: string } = {}) => ({
  indexUid: 'films',
  q: rest.q ?? null,
  filter: rest.filter ?? null,
  now: Date.parse(rest.at ?? '2026-06-01T00:00:00Z'),
})
const pinsFor = (...asked: Parameters<typeof effectsOf>) => effectsOf(...asked).pins
const meets = async (conditions: Conditions, asked: Parameters<typeof search>[0]): Promise<boolean> =>
  pinsFor(await RuleBook.of([rule('x', { conditions })]), search(asked)).length === 1

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
    name: 'words of phrases and excluded words do not count',
    conditions: { query: { words: 'star wars' } },
    yes: [
      { q: 'star wars' },
      { q: 'star -trek wars' },
      { q: 'star-wars' },
      { q: 'star - wars' },
      { q: '"the film" star wars' },
      { q: '-"the film" star wars' },
    ],
    no: [
      { q: 'star -wars' },
      { q: '-star wars' },
      { q: '"star wars"' },
      { q: 'star "wars' },
      { q: 'star -"the wars" film' },
    ],
  },
  {
    name: 'separators alone are an empty query',
    conditions: { query: { isEmpty: true } },
    yes: [{ q: ' … -- ! ' }],
    no: [{ q: '-a' }, { q: '… 1' }],
  },
  {
    name: 'words beyond the tenth are not considered',
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
  {
    name: 'without values, any filter that can be passed does',
    conditions: { filter: { values: {} } },
    yes: [{ filter: 'year > 1941' }],
    no: [{}, { filter: 'genre IN []' }],
  },
  {
    name: 'words are told apart as Unicode does',
    conditions: { query: { words: "don't 3.14 東京" } },
    yes: [{ q: "(東京) 3.14 DON'T" }],
    no: [{ q: 'don t 3 14 東京' }],
  },
  {
    name: 'words longer than are read never apply',
    conditions: { query: { words: `solar ${'a'.repeat(5000)}` } },
    yes: [],
    no: [{ q: `solar ${'a'.repeat(5000)}` }],
  },
  {
    name: 'values longer than are read never apply',
    conditions: { filter: { values: { genre: 'a'.repeat(70_000) } } },
    yes: [],
    no: [{ filter: `genre = ${'a'.repeat(70_000)}` }],
  },
]

for (const { name, conditions, yes, no } of cases) {
  test(`a rule applies: ${name}`, async (t) => {
    for (const asked of yes) t.true(await meets(conditions, asked), JSON.stringify(asked).slice(0, 99))
    for (const asked of no) t.false(await meets(conditions, asked), JSON.stringify(asked).slice(0, 99))
  })
}

test('rules apply by precedence, rules without one last, and the first pin of a document counts', async (t) => {
  const pin = (id: string, position: number) => ({ id, position })
  const rules = await RuleBook.of([
    rule('late', { actions: { pin: [pin('a', 9), pin('c', 3)] } }),
    rule('first', { precedence: 1, actions: { pin: [pin('a', 2)] } }),
    rule('second', { precedence: 20, actions: { pin: [pin('a', 0), pin('b', 1)] } }),
    rule('off', { precedence: 0, active: false }),
  ])
  t.deepEqual(pinsFor(rules, search()), [
    { id: 'a', position: 2 },
    { id: 'b', position: 1 },
    { id: 'c', position: 3 },
  ])
})

test('a pin of one index applies only to that index', async (t) => {
  const pin = [{ id: '1', position: 0, indexUid: 'books' }]
  const rules = await RuleBook.of([rule('x', { actions: { pin } })])
  t.deepEqual(pinsFor(rules, search()), [])
  t.deepEqual(pinsFor(rules, { ...search(), indexUid: 'books' }), [{ id: '1', position: 0 }])
})

test('pins beyond the hundredth are dropped, and a filter of many alternatives is evaluated in time', async (t) => {
  const pin = Array.from({ length: 300 }, (_, at) => ({ id: String(at), position: at }))
  t.is(pinsFor(await RuleBook.of([rule('x', { actions: { pin } })]), search()).length, 100)
  const many = Array.from({ length: 12 }, () => Array.from({ length: 40 }, (_, at) => `f = ${at}`))
  t.true(await meets({ filter: { values: { f: 0 } } }, { filter: many }))
})

test('a change keeps absent members and resets null members', (t) => {
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
      actions: {},
    },
  })
  t.deepEqual(changedRules(changed, 'x', null, at), {})
})

/** Budget, its reduced value, and a search that meets the rule only with the default. */
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
  test(`a rule is beyond the budget ${JSON.stringify(budget)}`, async (t) => {
    const rules = await RuleBook.of([rule('x', { conditions })])
    t.is(pinsFor(rules, search(asked)).length, 1)
    t.is(pinsFor(rules, search(asked), { ...defaultRuleBudgets, ...budget }).length, 0)
  })
}

test('the words of all rules together are within one budget', async (t) => {
  const rules = await RuleBook.of(
    ['a', 'b', 'c'].map((uid) => rule(uid, { conditions: { query: { words: 'solar' } } })),
  )
  const pins = pinsFor(rules, search({ q: 'solar' }), { ...defaultRuleBudgets, wordsMax: 2 })
  t.deepEqual(
    pins.map(({ id }) => id),
    ['a', 'b'],
  )
})

/** Runs `work` and counts the texts that it folds. */
function foldings(t: ExecutionContext, work: () => void): number {
  const { normalize } = String.prototype
  let count = 0
  String.prototype.normalize = function (this: string, form?: string) {
    count += 1
    return normalize.call(this, form)
  }
  t.teardown(() => {
    String.prototype.normalize = normalize
  })
  work()
  String.prototype.normalize = normalize
  return count
}

test.serial('a search folds its texts once, whatever the number of rules', async (t) => {
  const many = Array.from({ length: 1000 }, (_, at) => {
    const conditions = { query: { words: `film n${at}` }, filter: { values: { genre: `g${at}` } } }
    return rule(`r${at}`, { conditions })
  })
  const rules = await RuleBook.of(many)
  const filter = [Array.from({ length: 20 }, (_, at) => `genre = g${at}`), 'year = 1941']
  const asked = search({ q: 'film n7', filter })
  const count = foldings(t, () => {
    t.deepEqual(pinsFor(rules, asked), [{ id: 'r7', position: 0 }])
  })
  t.is(count, 1 + 20 + 1)
})

test.serial('an unchanged rule is not folded again when another one changes', async (t) => {
  const known = Array.from({ length: 4 }, (_, at) => rule(`r${at}`, { description: 'Film' }))
  const before = await RuleBook.of(known)
  let after: Promise<RuleBook> | undefined
  const count = foldings(t, () => {
    after = RuleBook.of([...known, rule('new', { description: 'Solar' })], before)
  })
  t.true(count > 0 && count < 4)
  t.deepEqual(
    listedRules((await after)!, { query: 'film', active: null }).map(({ uid }) => uid),
    known.map(({ uid }) => uid),
  )
})

test('each word of a list query must begin a word of the rule', async (t) => {
  const rules = await RuleBook.of([
    rule('a', { description: 'Été solaire', lastUpdatedAt: '2026-01-01T00:00:00.5Z' }),
    rule('b', { conditions: { query: { words: 'solar film' } }, lastUpdatedAt: '2026-01-01T00:00:00.25Z' }),
    rule('c', { active: false, description: 'solar' }),
  ])
  const listed = (query: string | null, active: boolean | null = null): readonly string[] =>
    listedRules(rules, { query, active }).map(({ uid }) => uid)
  t.deepEqual(listed(null), ['a', 'b', 'c'])
  t.deepEqual(listed('SOL'), ['a', 'b', 'c'])
  t.deepEqual(listed('sol', true), ['a', 'b'])
  t.deepEqual(listed('ete sola'), ['a'])
  t.deepEqual(listed('film solar'), ['b'])
  t.deepEqual(listed('films'), [])
  t.deepEqual(listed(`sol ${'a b '.repeat(50_000)}`), [])
})
