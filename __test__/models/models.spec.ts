/**
 * Local models.
 *
 * 1. Vectors match a plain computation, for each family and pooling, and however texts are batched.
 * 2. A damaged file causes an error that names it.
 * 3. A folder can be a model only below the folder of models.
 */
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import type { ModelUse } from '../../ts/embedding/index.js'
import { localFolder } from '../../ts/embedding/models/local-folder.js'
import { modelRuntime } from '../support/requirements.js'
import { testNeeding } from '../support/test-needing.js'
import { firstVector, meanVector } from './plain-encoder.js'
import { type Family, madeModel, safetensors, tinySizes } from './tiny-model.js'
import { emptyDirectory, tinyModels } from './tiny-models.js'

const test_ = testNeeding([modelRuntime])

/** Creates models in a folder, without a hub. */
async function world(t: ExecutionContext, files: ReadonlyMap<string, Buffer | string>) {
  const { models, folder } = await tinyModels(t, files)
  const vectors = (texts: readonly string[], use: Partial<ModelUse> = {}, signal?: AbortSignal) =>
    models.vectors({ model: folder, revision: null, pooling: 'useModel', ...use }, texts, {
      ...(signal !== undefined && { signal }),
    })
  return { models, vectors, folder }
}

const texts = [
  'red',
  'the red car is on the blue house',
  '',
  'boats running on a green boat',
  'unheardof',
  'a '.repeat(50),
  'Red CAR',
]

function distance(a: Iterable<number>, b: readonly number[]): number {
  const found = [...a]
  if (found.length !== b.length) return Number.POSITIVE_INFINITY
  return Math.max(...b.map((component, at) => Math.abs(component - (found[at] ?? Number.NaN))))
}

for (const family of ['bert', 'roberta', 'distilbert'] satisfies Family[]) {
  test_(`${family}: vectors match a plain computation`, async (t) => {
    const model = madeModel(family)
    const { vectors } = await world(t, model.files)
    for (const [pooling, expected] of [
      ['useModel', meanVector],
      ['forceMean', meanVector],
      ['forceCls', firstVector],
    ] as const) {
      const made = await vectors(texts, { pooling })
      t.is(made.length, texts.length)
      for (const [at, text] of texts.entries())
        t.true(distance(made[at] ?? [], expected(model, text)) < 1e-4, `${pooling}: ${text}`)
    }
  })
}

test_('the pooling in the files of a model is used, unless the settings set another', async (t) => {
  const model = madeModel('bert', tinySizes, { pooling: { pooling_mode_cls_token: true } })
  const { vectors } = await world(t, model.files)
  const [first] = await vectors(['red car'])
  t.true(distance(first ?? [], firstVector(model, 'red car')) < 1e-4)
  const [mean] = await vectors(['red car'], { pooling: 'forceMean' })
  t.true(distance(mean ?? [], meanVector(model, 'red car')) < 1e-4)
})

test_('a text has the same vector alone and in a batch with texts of other lengths', async (t) => {
  const { vectors } = await world(t, madeModel('bert').files)
  const many = Array.from({ length: 100 }, (_, at) => 'the red cars '.repeat(at % 9))
  const together = await vectors(many)
  for (const at of [0, 1, 8, 50, 99]) {
    const [alone] = await vectors([many[at] ?? ''])
    t.true(distance(alone ?? [], [...(together[at] ?? [])]) < 1e-5, `text ${at}`)
  }
})

const { files } = madeModel('bert')
const weights = files.get('model.safetensors') ?? Buffer.alloc(0)
const config = JSON.parse(String(files.get('config.json'))) as Readonly<Record<string, unknown>>
const configWith = (settings: object) => JSON.stringify({ ...config, ...settings })
const claiming = (bytes: bigint): Buffer => {
  const claim = Buffer.from(weights)
  claim.writeBigUInt64LE(bytes)
  return claim
}
const unlike = madeModel('bert', { ...tinySizes, hidden: 16 }).files.get('model.safetensors') ?? ''
const infinite = new Map(madeModel('bert').weights)
infinite.set('embeddings.LayerNorm.bias', { shape: [32], values: new Float32Array(32).fill(3e38) })
infinite.set('embeddings.LayerNorm.weight', { shape: [32], values: new Float32Array(32).fill(3e38) })

const doubling = { type: 'Replace', pattern: { String: 'a' }, content: 'aa' }
const normalizing = (normalizer: object): string =>
  JSON.stringify({ ...JSON.parse(String(files.get('tokenizer.json'))), normalizer })

const damages: readonly (readonly [
  what: string,
  file: string,
  content: Buffer | string | null,
  message: RegExp,
])[] = [
  ['missing settings', 'config.json', null, /`config.json` .*no such file/],
  ['a missing tokenizer', 'tokenizer.json', null, /`tokenizer.json` .*no such file/],
  ['missing weights', 'model.safetensors', null, /`model.safetensors` of the model cannot be used/],
  ['settings that are no JSON', 'config.json', '{"model_type"', /`config.json`/],
  ['settings that are not UTF-8', 'config.json', Buffer.from([0x22, 0xff, 0xfe, 0x22]), /`config.json`/],
  ['large settings', 'config.json', ' '.repeat(2 ** 20 + 1), /`config.json` .*larger than 1048576 bytes/],
  ['another family', 'config.json', configWith({ model_type: 't5' }), /`t5` is not supported; bert, roberta/],
  ['no size', 'config.json', configWith({ hidden_size: 0 }), /`hidden_size` is 0, but can be 1 to 8192/],
  ['a negative size', 'config.json', configWith({ vocab_size: -1 }), /`config.json`/],
  ['a huge size', 'config.json', configWith({ intermediate_size: 2 ** 40 }), /`intermediate_size`/],
  ['many layers', 'config.json', configWith({ num_hidden_layers: 3 }), /`encoder.layer.2.*it is missing/],
  ['odd heads', 'config.json', configWith({ num_attention_heads: 5 }), /5 heads cannot share 32 components/],
  [
    'few positions',
    'config.json',
    configWith({ max_position_embeddings: 2 }),
    /`tokenizer.json` .*adds 2 tokens/,
  ],
  ['sizes that are not those of the weights', 'model.safetensors', unlike, /its shape is .*config.json says/],
  ['a tokenizer that is no JSON', 'tokenizer.json', '[', /`tokenizer.json`/],
  ['a tokenizer that is not UTF-8', 'tokenizer.json', Buffer.from([0xff]), /`tokenizer.json`/],
  [
    'a tokenizer that its library panics on',
    'tokenizer.json',
    normalizing({ type: 'Precompiled', precompiled_charsmap: 'AAAA' }),
    /`tokenizer.json` .*malformed/,
  ],
  [
    'a tokenizer that multiplies texts',
    'tokenizer.json',
    normalizing({ type: 'Sequence', normalizers: Array.from({ length: 40 }, () => doubling) }),
    /`tokenizer.json` .*times as long/,
  ],
  ['another JSON as tokenizer', 'tokenizer.json', '{}', /`tokenizer.json`/],
  ['no weights', 'model.safetensors', '', /`model.safetensors` .*shorter than its own header/],
  [
    'cut weights',
    'model.safetensors',
    weights.subarray(0, -5),
    /claims \d+ bytes of weights, but \d+ follow/,
  ],
  ['weights that are longer', 'model.safetensors', Buffer.concat([weights, weights]), /but \d+ follow/],
  ['a cut head', 'model.safetensors', weights.subarray(0, 100), /`model.safetensors`/],
  ['a head beyond the end', 'model.safetensors', claiming(BigInt(weights.length - 7)), /its header claims/],
  ['a huge head', 'model.safetensors', claiming(2n ** 63n), /its header claims 9223372036854775808 bytes/],
  ['a head of another length', 'model.safetensors', claiming(100n), /`model.safetensors`/],
  ['no JSON as head', 'model.safetensors', Buffer.alloc(64, 1), /`model.safetensors`/],
  ['numbers beyond floats', 'model.safetensors', safetensors(infinite), /numbers that are not finite/],
  ['another pooling', '1_Pooling/config.json', '{"pooling_mode_weightedmean_tokens":true}', /`forceMean` or/],
  ['few words', 'config.json', configWith({ vocab_size: 5 }), /`model.safetensors` .*word_embeddings/],
]

for (const [what, file, content, message] of damages) {
  test_(`${what}: the error names the file`, async (t) => {
    const damaged = new Map<string, Buffer | string>(files)
    if (content === null) damaged.delete(file)
    else damaged.set(file, content)
    const { vectors } = await world(t, damaged)
    const error = await t.throwsAsync(vectors(['red']))
    t.is(error.name, 'ModelError')
    t.regex(error.message, message)
  })
}

test_('a tokenizer with more words than weights causes an error when such a word occurs', async (t) => {
  const more = madeModel('bert', tinySizes, {
    words: [...Array.from({ length: 40 }, (_, at) => `w${at}`), 'red'],
  })
  const { vectors } = await world(
    t,
    new Map<string, Buffer | string>([...files, ['tokenizer.json', wordLevel(more.files)]]),
  )
  t.regex(
    (await t.throwsAsync(vectors(['red']))).message,
    /`tokenizer.json` .*token 40, but config.json says/,
  )
})

/** The tokenizer of `files` without special tokens, which are missing in its vocabulary. */
function wordLevel(of: ReadonlyMap<string, Buffer>): string {
  const tokenizer = JSON.parse(String(of.get('tokenizer.json'))) as Record<string, unknown>
  return JSON.stringify({ ...tokenizer, post_processor: null })
}

test_('a search does not wait for documents', async (t) => {
  const { models, vectors, folder } = await world(t, files)
  await vectors(['red'])
  const ended: string[] = []
  const documents = vectors(Array.from({ length: 20_000 }, () => 'the red car')).then(() =>
    ended.push('documents'),
  )
  const use = { model: folder, revision: null, pooling: 'useModel' } as const
  await models.vectors(use, ['red'], { deadline: performance.now() + 60_000 })
  ended.push('search')
  await documents
  t.deepEqual(ended, ['search', 'documents'])
})

test_('an aborted call ends', async (t) => {
  const { vectors } = await world(t, files)
  await vectors(['red'])
  const giving = new AbortController()
  const call = vectors(
    Array.from({ length: 2000 }, () => 'a '.repeat(50)),
    {},
    giving.signal,
  )
  giving.abort(new Error('enough'))
  t.is((await t.throwsAsync(call)).message, 'enough')
})

test_('after close, models reject calls', async (t) => {
  const { models, vectors } = await world(t, files)
  models.close()
  await t.throwsAsync(vectors(['red']), { any: true })
})

test('a folder can be a model only below the folder of models', async (t) => {
  const directory = await emptyDirectory(t)
  const root = join(directory, 'models')
  await mkdir(join(root, 'tiny'), { recursive: true })
  await mkdir(join(directory, 'secret'))
  await writeFile(join(root, 'file'), '')
  await symlink(join(directory, 'secret'), join(root, 'link'))
  const folder = (model: string, revision: string | null = null) => localFolder({ model, revision }, root)
  t.regex(await folder(join(root, 'tiny')), /tiny$/)
  for (const [model, message] of [
    [root, /not below/],
    [join(directory, 'secret'), /not below/],
    [join(directory, 'absent'), /not below/],
    [`${root}/tiny/../../secret`, /not below/],
    [join(root, 'link'), /not below/],
    [join(root, 'absent'), /there is no folder/],
    [join(root, 'file'), /is no folder/],
  ] as const) {
    t.regex((await t.throwsAsync(folder(model))).message, message, model)
  }
  t.regex((await t.throwsAsync(folder(join(root, 'tiny'), 'v2'))).message, /no `revision`/)
})
