/** Judged queries: files, metrics, comparison and tuning, all without a server. */
import test from 'ava'
import {
  type Candidate,
  changedMembers,
  changesOf,
  foldsOf,
  largestLoss,
  ndcg,
  queriesOf,
  readJudgments,
  recall,
  startingCandidates,
  tune,
  withoutIds,
} from '../../ts/judge/index.js'
import { LaunchError } from '../../ts/launch/index.js'

const graded = (grades: Readonly<Record<string, number>>) => new Map(Object.entries(grades))
const near = (value: number): string => value.toFixed(6)

// Gains are 2^grade − 1: 7, 3, 1, 0. Discounts are 1/log2(position + 2): 1, 0.630930, 0.5, 0.430677.
const grades = graded({ a: 3, b: 2, c: 1, d: 0 })
for (const [ids, expected] of [
  [['a', 'b', 'c', 'd'], '1.000000'],
  // (3 + 7 · 0.630930) / (7 + 3 · 0.630930 + 1 · 0.5)
  [['b', 'a'], '0.789596'],
  // 7 · 0.5 / 9.392789
  [['x', 'y', 'a'], '0.372626'],
  [['d', 'x'], '0.000000'],
  [[], '0.000000'],
] as const)
  test(`nDCG of the hits [${ids}] is ${expected}`, (t) => t.is(near(ndcg(ids, grades)), expected))

test('nDCG reads the first hits only, in the ideal order too', (t) => {
  const many = graded(Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`${at}`, 1])))
  const ids = [...many.keys()]
  t.is(ndcg(ids, many), 1)
  t.is(ndcg([...Array(10).fill('x'), ...ids], many), 0)
  t.is(ndcg(['a'], graded({ a: 0 })), 0)
})

test('recall is the share of the relevant documents among the first hits', (t) => {
  t.is(near(recall(['c', 'x', 'd', 'a'], grades)), '0.666667')
  t.is(recall([...Array(50).fill('x'), 'a'], grades), 0)
  t.is(recall(['a'], graded({ a: 0 })), 0)
})

test('the largest loss is the document whose gain moved down most', (t) => {
  t.is(largestLoss(['a', 'b', 'c'], ['b', 'a', 'c'], grades), 'a')
  t.is(largestLoss(['a', 'b', 'c'], ['a', 'c'], grades), 'b')
  t.is(largestLoss(['b', 'a'], ['a', 'b'], grades), 'b')
  t.is(largestLoss(['c'], ['c', 'a'], grades), null)
})

test('changes are listed with the largest first, equal queries left out', (t) => {
  const scores = (...values: readonly number[]) => values.map((value) => ({ ndcg: value }))
  const { worse, better } = changesOf(scores(0.5, 1, 0.2, 0.3, 0), scores(0.4, 0.1, 0.2, 0.9, 0.1))
  t.deepEqual(
    [worse.map(({ at }) => at), better.map(({ at }) => at)],
    [
      [1, 0],
      [3, 4],
    ],
  )
})

test('judgments are read from CSV with columns in any order, and from NDJSON', (t) => {
  const expected = [
    { query: 'space, opera', id: '7', grade: 3, line: 2 },
    { query: 'a "b"', id: 'x y', grade: 0, line: 4 },
  ]
  const csv = '\ufeffgrade,note,id,query\r\n3,n,7,"space, opera"\r\n\r\n0,,x y,"a ""b"""\r\n'
  t.deepEqual(readJudgments(csv, 'f'), expected)
  const lines = expected.map(({ query, id, grade }) => JSON.stringify({ query, id, grade, by: 'x' }))
  t.deepEqual(readJudgments(`\n${lines[0]}\n\n${lines[1]}`, 'f'), expected)
  t.is(readJudgments('{"query":"a","id":7,"grade":2}', 'f')[0]?.id, '7')
})

for (const [text, message] of [
  ['', /^f is empty; its first line must be `query,id,grade`$/],
  ['query,id,grade\n', /^f has no judgments/],
  ['query,id,score\na,1,2', /^f line 1: no column `grade`, found `query,id,score`/],
  ['query,id,grade\na,1,1\na,2', /^f line 3: the grade is missing$/],
  ['query,id,grade\na,1,\nb,,1', /^f line 2: the grade is missing; 1 other line is wrong too$/],
  ['query,id,grade\na,1,-1', /^f line 2: grade `-1`: expected a number from 0 \(not relevant\) to 10/],
  ['query,id,grade\na,1,100', /^f line 2: grade `100`/],
  ['query,id,grade\na,1,good', /^f line 2: grade `good`/],
  ['query,id,grade\n ,1,1', /^f line 2: query ` ?`: expected a text that is not empty$/],
  ['{"id":"1","grade":1}', /^f line 1: the query is missing$/],
  ['{"query":7,"id":"1","grade":1}', /^f line 1: query `7`: expected a text/],
  ['query,id,grade\na,1,1\nb,1,1\na,1,2', /^f line 4: query `a` and id `1` are also on line 2$/],
  ['query,id,grade\n"a,1,1', /^f line \d+: not CSV: /],
  ['{"query":"a","id":1}', /^f line 1: the grade is missing$/],
  ['{"query":"a","id":1,"grade":true}', /^f line 1: grade `true`/],
  ['{"query":"a","id":1,"grade":1}\n[]', /^f line 2: expected an object/],
  ['{"query":"a"\n', /^f line 1: not JSON/],
] as const)
  test(`the judgments ${JSON.stringify(text)} are refused with line and value`, (t) => {
    const error = t.throws(() => readJudgments(text, 'f'), { instanceOf: LaunchError, message })
    t.is(error?.exitCode, 2)
  })

test('queries without a relevant document are left out, also if it does not exist', (t) => {
  const judgments = readJudgments('query,id,grade\na,1,2\na,2,0\nb,1,0\nc,9,3', 'f')
  const known = queriesOf(withoutIds(judgments, new Set(['9'])))
  t.deepEqual(known, [{ query: 'a', grades: graded({ 1: 2, 2: 0 }) }])
  t.is(queriesOf(judgments).length, 2)
})

const now: Candidate = {
  rankingRules: [
    'stock:desc',
    'words',
    'typo',
    'proximity',
    'attributeRank',
    'sort',
    'wordPosition',
    'exactness',
  ],
  matchingStrategy: 'last',
  attributeWeights: {},
  typoTolerance: { enabled: true, minWordSizeForTypos: { oneTypo: 5, twoTypos: 9 } },
}

test('tuning starts from the present settings, and keeps rules that are not about words in place', (t) => {
  const [first, relevance] = startingCandidates(now)
  t.is(first, now)
  t.deepEqual(relevance?.rankingRules, ['stock:desc', 'relevance', 'sort'])
  t.deepEqual(changedMembers(now, relevance!), {
    rankingRules: ['stock:desc', 'relevance', 'sort'],
    matchingStrategy: 'any',
    typoTolerance: { minWordSizeForTypos: { oneTypo: 4, twoTypos: 8 } },
  })
  t.deepEqual(changedMembers(now, now), {})
})

test('folds divide all queries evenly, and a seed repeats them', (t) => {
  const folds = foldsOf(11, 3, 7)
  t.deepEqual(folds.map(({ length }) => length).sort(), [3, 4, 4])
  t.deepEqual(
    folds.flat().sort((a, b) => a - b),
    [...Array(11).keys()],
  )
  t.deepEqual(foldsOf(11, 3, 7), folds)
  t.notDeepEqual(foldsOf(11, 3, 8), folds)
})

/** The title should weigh 4, the text a half. The last query is best with the settings of today. */
const measure = async ({ matchingStrategy, attributeWeights }: Candidate): Promise<readonly number[]> => {
  const away = (name: string, best: number): number =>
    Math.abs(Math.log2(attributeWeights[name] ?? 1) - Math.log2(best))
  const score = matchingStrategy === 'any' ? 0.9 - 0.1 * away('title', 4) - 0.1 * away('text', 0.5) : 0.3
  return [...Array(9).fill(score), 1 - score]
}

test('tuning finds weights, and reports them on queries that it did not see', async (t) => {
  const task = { now, attributes: ['title', 'text'], queries: 10, folds: 5, seed: 1, measure }
  const seen: number[] = []
  const tuned = await tune({ ...task, triesMax: 100, progress: (tried) => void seen.push(tried) })
  t.deepEqual(tuned.found.attributeWeights, { title: 4, text: 0.5 })
  t.is(tuned.found.matchingStrategy, 'any')
  t.deepEqual(
    [tuned.seen, tuned.unseen].map(({ before, after }) => [near(before), near(after)]),
    [
      ['0.340000', '0.820000'],
      ['0.340000', '0.820000'],
    ],
  )
  t.deepEqual(
    seen,
    [...Array(tuned.tried).keys()].map((at) => at + 1),
  )
  t.true(tuned.tried <= 100)
  t.deepEqual(await tune({ ...task, triesMax: 100, progress: () => undefined }), tuned)
})

test('tuning measures at most the given number of settings', async (t) => {
  const task = { now, attributes: ['title', 'text'], queries: 4, folds: 2, seed: 1 }
  const flat = async (): Promise<readonly number[]> => [0.5, 0.5, 0.5, 0.5]
  for (const triesMax of [1, 3, 8]) {
    const tuned = await tune({ ...task, triesMax, measure: flat, progress: () => undefined })
    t.true(tuned.tried <= Math.max(3, triesMax), `${tuned.tried}`)
    t.deepEqual(tuned.found, now)
  }
})
