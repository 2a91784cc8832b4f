/**
 * Cross-encoders.
 *
 * 1. Scores match a plain computation, for each family, however long the texts are and however they are batched.
 * 2. A model without a head, or with several labels, causes an error that says so.
 * 3. A call ends at its deadline, or when its client leaves.
 */
import type { ExecutionContext } from 'ava'
import { LateModelError, ModelError } from '../../ts/embedding/index.js'
import { modelRuntime } from '../support/requirements.js'
import { testNeeding } from '../support/test-needing.js'
import { pairScore } from './plain-encoder.js'
import { type Family, madeModel, safetensors, tinySizes, vocabulary } from './tiny-model.js'
import { tinyModels } from './tiny-models.js'

const test_ = testNeeding([modelRuntime])

interface Limits {
  readonly deadline?: number
  readonly signal?: AbortSignal
}

async function world(t: ExecutionContext, files: ReadonlyMap<string, Buffer | string>) {
  const { models, folder } = await tinyModels(t, files)
  const scores = async (query: string, documents: readonly string[], limits: Limits = {}) => [
    ...(await models.scores({ model: folder, revision: null }, { query, documents }, limits)),
  ]
  return { models, scores, folder }
}

const documents = [
  'red',
  'the red car is on the blue house',
  '',
  'boats running on a green boat',
  'unheardof',
  'a green '.repeat(50),
  'Red CAR',
]
const queries = ['red car', '', 'boats', 'the blue house '.repeat(30)]

const isNear = (a: number, b: number): boolean => Math.abs(a - b) < 1e-4

for (const family of ['bert', 'roberta', 'distilbert'] satisfies Family[]) {
  test_(`${family}: scores match a plain computation`, async (t) => {
    const model = madeModel(family, tinySizes, { labels: 1 })
    const { scores } = await world(t, model.files)
    for (const query of queries) {
      const found = await scores(query, documents)
      t.is(found.length, documents.length)
      for (const [at, document] of documents.entries())
        t.true(isNear(found[at]!, pairScore(model, query, document)), `${query.slice(0, 20)}: ${document}`)
    }
    t.deepEqual(await scores('red', []), [])
  })
}

const bert = madeModel('bert', tinySizes, { labels: 1 })

test_('a document has the same score alone, and among documents of other lengths', async (t) => {
  const { scores } = await world(t, bert.files)
  const many = Array.from({ length: 100 }, (_, at) => 'the red cars '.repeat(at % 9))
  const together = await scores('red boat', many)
  for (const at of [0, 1, 8, 50, 99]) {
    const [alone = Number.NaN] = await scores('red boat', [many[at]!])
    t.true(Math.abs(alone - together[at]!) < 1e-5, `document ${at}`)
  }
  t.true(new Set(together.map((score) => score.toFixed(6))).size > 5)
})

test_(
  'scores are those of a call with a time limit, and of a model in the early format of weights',
  async (t) => {
    const { scores } = await world(t, bert.files)
    const deadline = performance.now() + 60_000
    t.deepEqual(await scores('red', documents, { deadline }), await scores('red', documents))
  },
)

const long = 'x'.repeat(65_536)
const hostile: Readonly<Record<string, readonly [query: string, document: string]>> = {
  'a query of 64 KiB': [long, 'red'],
  'a document of 64 KiB': ['red', long],
  'many words in both': ['red '.repeat(16_384), 'car '.repeat(16_384)],
  'two empty texts': ['', ''],
  'half a surrogate pair': ['red \ud800', '\udfff car'],
  'names of special tokens': ['[CLS] [SEP] [PAD]', '[SEP] [CLS]'],
  'bytes of control': ['\u0000\u0001', '\u0000'],
}
test_('any text has a finite score', async (t) => {
  const { scores } = await world(t, bert.files)
  for (const [name, [query, document]] of Object.entries(hostile)) {
    const [score = Number.NaN] = await scores(query, [document])
    t.true(score >= 0 && score <= 1, `${name}: ${score}`)
  }
})

const stored = bert.files.get('model.safetensors')!
const config = JSON.parse(String(bert.files.get('config.json'))) as object
const tokenizer = JSON.parse(String(bert.files.get('tokenizer.json'))) as {
  readonly post_processor: { readonly single: readonly object[]; readonly pair: readonly object[] }
}
const endless = new Map(bert.weights)
endless.set('classifier.bias', { shape: [1], values: new Float32Array([Number.POSITIVE_INFINITY]) })
const withPrefix = (weights: typeof endless) =>
  safetensors(
    new Map([...weights].map(([name, one]) => [name.startsWith('classifier') ? name : `bert.${name}`, one])),
  )
const withoutPooler = new Map([...bert.weights].filter(([name]) => !name.startsWith('pooler')))
const padded = {
  ...tokenizer,
  post_processor: {
    ...tokenizer.post_processor,
    pair: Array.from({ length: 12 }, () => tokenizer.post_processor.pair).flat(),
  },
}

const unusable: readonly (readonly [string, ReadonlyMap<string, Buffer | string>, RegExp])[] = [
  [
    'a sentence model',
    madeModel('bert').files,
    /`model.safetensors` .*no tensor `classifier.weight` in it, so the model is no cross-encoder/,
  ],
  ['a sentence model of RoBERTa', madeModel('roberta').files, /`classifier.out_proj.weight`/],
  [
    'two labels',
    madeModel('bert', tinySizes, { labels: 2 }).files,
    /the model has 2 labels, but a reranker has one/,
  ],
  [
    'three labels',
    madeModel('distilbert', tinySizes, { labels: 3 }).files,
    /the model has 3 labels, but a reranker has one/,
  ],
  [
    'no pooler',
    new Map([...bert.files, ['model.safetensors', withPrefix(withoutPooler)]]),
    /tensor `pooler.dense.weight`: it is missing/,
  ],
  [
    'a number that is not finite',
    new Map([...bert.files, ['model.safetensors', withPrefix(endless)]]),
    /numbers that are not finite/,
  ],
  ['cut weights', new Map([...bert.files, ['model.safetensors', stored.subarray(0, -5)]]), /but \d+ follow/],
  [
    'few positions',
    new Map<string, Buffer | string>([
      ...bert.files,
      ['config.json', JSON.stringify({ ...config, max_position_embeddings: 3 })],
    ]),
    /`tokenizer.json` .*adds 3 tokens to a pair of texts, but the model reads 3/,
  ],
  [
    'a pair that takes more tokens than there are',
    new Map<string, Buffer | string>([...bert.files, ['tokenizer.json', JSON.stringify(padded)]]),
    /`tokenizer.json`/,
  ],
]
for (const [what, files, message] of unusable) {
  test_(`${what}: the error says what is wrong`, async (t) => {
    const { scores } = await world(t, files)
    const error = await t.throwsAsync(scores('red', ['car']), { instanceOf: ModelError })
    t.regex(error.message, message)
  })
}

test_('a token type that the model lacks is read as its first', async (t) => {
  const model = madeModel('roberta', tinySizes, { labels: 1 })
  const pairs = JSON.parse(String(model.files.get('tokenizer.json')).replaceAll('"type_id":0', '"type_id":7'))
  const { scores } = await world(
    t,
    new Map<string, Buffer | string>([...model.files, ['tokenizer.json', JSON.stringify(pairs)]]),
  )
  const [score = Number.NaN] = await scores('red', ['car'])
  t.true(isNear(score, pairScore(model, 'red', 'car')))
})

const words = vocabulary.slice(4, 14)
const many = Array.from({ length: 1000 }, (_, at) =>
  Array.from({ length: 20 }, (_, word) => words[(at * 7 + word * 3) % words.length]).join(' '),
)

test_('a call ends at its deadline, and the lane is free for the next', async (t) => {
  const { scores } = await world(t, bert.files)
  const cold = await t.throwsAsync(scores('red', many, { deadline: performance.now() }), {
    instanceOf: LateModelError,
  })
  t.regex(cold.message, /was not loaded in time/)
  await scores('red', ['car'])
  const late = await Promise.all(
    Array.from({ length: 20 }, () => t.throwsAsync(scores('red', many, { deadline: performance.now() + 2 }))),
  )
  t.true(late.every((error) => error instanceof LateModelError))
  t.regex(late[0]!.message, /the model `.*tiny` did not answer in time/)
  const again = await scores('red', documents, { deadline: performance.now() + 60_000 })
  t.is(again.length, documents.length)
})

test_('more calls than may wait are refused at once', async (t) => {
  const { scores } = await world(t, bert.files)
  await scores('red', ['car'])
  const leaving = new AbortController()
  const limits = { deadline: performance.now() + 60_000, signal: leaving.signal }
  const calls = Array.from({ length: 40 }, () => scores('red', many, limits).catch((error: Error) => error))
  const first = await Promise.race(calls)
  t.regex(String(first), /ModelError: the model `.*tiny` is busy with other searches/)
  leaving.abort(new Error('left'))
  const outcomes = (await Promise.all(calls)).map(String)
  t.is(outcomes.filter((outcome) => outcome.includes('busy')).length, 7)
  t.is(outcomes.filter((outcome) => outcome === 'Error: left').length, 33)
})
