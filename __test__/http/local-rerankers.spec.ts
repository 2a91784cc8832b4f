/** Rerankers with a model inside the server. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { startHub } from '../models/hub-server.js'
import { pairScore } from '../models/plain-encoder.js'
import { madeModel, tinySizes, writeModel } from '../models/tiny-model.js'
import { modelRuntime } from '../support/requirements.js'
import { startServer, type TestBody } from '../support/server.js'
import { testNeeding } from '../support/test-needing.js'

const withModels = testNeeding([modelRuntime])

const model = madeModel('bert', tinySizes, { labels: 1 })
const documentTemplate = '{{doc.text}}'
const texts = ['red car', 'the blue boats', 'green house on a red boat', 'a red house', 'run the red car']
const documents = texts.map((text, id) => ({ id, text }))

async function world(t: ExecutionContext, hubUrl = 'http://localhost:9') {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-models-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const folder = join(directory, 'tiny')
  await writeModel(folder, model.files)
  const server = await startServer(t, {
    models: { directory, hubUrl },
    features: ['metrics', 'dynamicSearchRules'],
    allowedNetworks: ['127.0.0.0/8'],
  })
  const m = { source: 'huggingFace', model: folder, documentTemplate, timeoutMs: 30_000 }
  const settings = (index: string, rerankers: object) =>
    server.settle(t, server.patch(`/indexes/${index}/settings`, { searchCutoffMs: 60_000, rerankers }))
  const add = (index: string, added: readonly object[]) =>
    server.settle(t, server.post(`/indexes/${index}/documents`, added))
  const search = async (body: object) => (await server.post('/indexes/i/search', body)).body
  return { server, settings, add, search, folder, m }
}

const ids = ({ hits }: Pick<TestBody, 'hits'>): readonly unknown[] => hits.map(({ id }) => id)

/** The order of documents by a plain computation. */
const ordered = (query: string, found: readonly unknown[]): readonly unknown[] =>
  found.toSorted(
    (a, b) => pairScore(model, query, texts[Number(b)]!) - pairScore(model, query, texts[Number(a)]!),
  )

withModels(
  'a search has its first hits in the order of the model, with its scores in the details',
  async (t) => {
    const { server, settings, add, search, m } = await world(t)
    t.is((await settings('i', { m })).status, 'succeeded')
    await add('i', documents)
    const plain = ids(await search({ q: 'red' }))
    t.deepEqual(plain.toSorted(), [0, 2, 3, 4])
    const rerank = { model: 'm', topK: 3 }
    const body = await search({
      q: 'red',
      rerank,
      showRankingScoreDetails: true,
      showPerformanceDetails: true,
    })
    const expected = [...ordered('red', plain.slice(0, 3)), ...plain.slice(3)]
    t.deepEqual(ids(body), expected)
    t.notDeepEqual(expected, plain, 'the model has another order')
    t.deepEqual(body.rerank, { applied: true, model: 'm', hits: 3 })
    t.regex(JSON.stringify(body.performanceDetails), /"search > rerank":"[\d.]+ms"/)
    for (const [at, { id, _rankingScoreDetails: details }] of body.hits.entries()) {
      const { rerank: detail } = details as { rerank?: { positionBefore: number; score: number } }
      if (at === 3) t.is(detail, undefined)
      else {
        t.is(detail?.positionBefore, plain.indexOf(id))
        t.true(Math.abs((detail?.score ?? 0) - pairScore(model, 'red', texts[Number(id)]!)) < 1e-4)
      }
    }
    const metrics = (await server.get('/metrics')).bytes.toString()
    t.regex(metrics, /^siftd_rerank_requests_total\{outcome="applied"\} 1$/m)
    const [few] = [await search({ q: 'red', rerank, attributesToRetrieve: ['id'], limit: 2 })]
    t.deepEqual(few.hits, expected.slice(0, 2).map((id) => ({ id })) as never)
  },
)

withModels('merged hits are in the order of the model, if all indexes name the same', async (t) => {
  const { server, settings, add, m } = await world(t)
  await settings('i', { m })
  await settings('j', { m: { ...m, documentTemplate: 'the {{doc.text}}' } })
  await add('i', documents.slice(0, 3))
  await add('j', documents.slice(3))
  const federated = (federation: object) =>
    server.post('/multi-search', {
      federation,
      queries: ['i', 'j'].map((indexUid) => ({ indexUid, q: 'red' })),
    })
  const plain = ids((await federated({})).body)
  const { body } = await federated({ rerank: { model: 'm' } })
  const score = (id: unknown) =>
    pairScore(model, 'red', Number(id) < 3 ? texts[Number(id)]! : `the ${texts[Number(id)]}`)
  t.deepEqual(
    ids(body),
    plain.toSorted((a, b) => score(b) - score(a)),
  )
  t.deepEqual(body.rerank, { applied: true, model: 'm', hits: 4 })
  const other = { ...m, timeoutMs: 1 }
  t.is((await settings('j', { m: other })).status, 'succeeded', 'limits are those of the first index')
  t.deepEqual((await federated({ rerank: { model: 'm' } })).body.rerank, {
    applied: true,
    model: 'm',
    hits: 4,
  })
})

withModels('hits keep their order if the model is too slow, and the answer says so', async (t) => {
  const { server, settings, add, search, m } = await world(t)
  await settings('i', { m: { ...m, timeoutMs: 1 } })
  const many = Array.from({ length: 300 }, (_, id) => ({ id, text: `red ${'car boat house '.repeat(6)}` }))
  await add('i', many)
  const body = await search({ q: 'red', limit: 3, rerank: { model: 'm', topK: 300 } })
  t.deepEqual(ids(body), [0, 1, 2])
  t.like(body.rerank, { applied: false, model: 'm' })
  t.regex(JSON.stringify(body.rerank), /the model `.*tiny` (was not loaded|did not answer) within 1 ms/)
  await settings('i', { m: { timeoutMs: null } })
  await search({ q: 'red', limit: 1, rerank: { model: 'm', topK: 1 } })
  await settings('i', { m: { timeoutMs: 1 } })
  const warm = await search({ q: 'red', limit: 3, rerank: { model: 'm', topK: 300 } })
  t.regex(JSON.stringify(warm.rerank), /the model `.*tiny` did not answer within 1 ms/)
  t.regex(
    (await server.get('/metrics')).bytes.toString(),
    /^siftd_rerank_requests_total\{outcome="timeout"\} 2$/m,
  )
})

withModels(
  'a model of a hub is downloaded by the settings task, once for embedders and rerankers',
  async (t) => {
    const hub = await startHub(t, model.files)
    const { server, settings, add, search, m } = await world(t, hub.url)
    const named = { ...m, model: 'org/tiny' }
    t.is((await settings('i', { m: named })).status, 'succeeded')
    const { length } = hub.requests
    t.true(length > 0)
    await add('i', documents)
    t.like((await search({ q: 'red', rerank: { model: 'm' } })).rerank, { applied: true })
    const e = { source: 'huggingFace', model: 'org/tiny', documentTemplate }
    t.is(
      (await server.settle(t, server.patch('/indexes/other/settings', { embedders: { e } }))).status,
      'succeeded',
    )
    t.is(hub.requests.length, length)
    const missing = await settings('i', { m: { revision: 'v9' } })
    t.is(missing.error.code, 'invalid_settings_rerankers')
    t.regex(missing.error.message, /`\.rerankers\.m`: the hub has no model `org\/tiny` at the revision `v9`/)
  },
)

withModels('a model that cannot rank fails the task of its settings, which changes nothing', async (t) => {
  const { server, settings, add, search, folder, m } = await world(t)
  await settings('i', { m })
  await add('i', documents)
  const before = (await server.get('/indexes/i/settings')).body
  for (const [labels, message] of [
    [0, /`\.rerankers\.n`: .*no tensor `classifier.weight` in it, so the model is no cross-encoder/],
    [2, /`\.rerankers\.n`: .*the model has 2 labels, but a reranker has one/],
  ] as const) {
    await writeModel(`${folder}${labels}`, madeModel('bert', tinySizes, { labels }).files)
    const { error } = await settings('i', { n: { ...m, model: `${folder}${labels}` } })
    t.is(error.code, 'invalid_settings_rerankers')
    t.regex(error.message, message)
  }
  const outside = await settings('i', { n: { ...m, model: '/etc' } })
  t.regex(outside.error.message, /`\.rerankers\.n`: the model `\/etc` is a folder that is not below/)
  t.deepEqual((await server.get('/indexes/i/settings')).body, before)
  // The changed field needs no model.
  await writeModel(folder, new Map([['model.safetensors', Buffer.alloc(7)]]))
  t.is((await settings('i', { m: { timeoutMs: 20_000 } })).status, 'succeeded')
  t.like((await search({ q: 'red', rerank: { model: 'm' } })).rerank, { applied: true }, 'it is in memory')
})

withModels('a search whose model is gone keeps its order, and the answer says so', async (t) => {
  const { server, settings, add, search, folder, m } = await world(t)
  await settings('i', { m })
  await add('i', documents)
  const plain = ids(await search({ q: 'red' }))
  // Four other models displace it from memory.
  for (const name of ['a', 'b', 'c', 'd']) {
    await writeModel(`${folder}-${name}`, model.files)
    t.is((await settings('other', { [name]: { ...m, model: `${folder}-${name}` } })).status, 'succeeded')
  }
  await rm(folder, { recursive: true })
  const body = await search({ q: 'red', rerank: { model: 'm' } })
  t.deepEqual(ids(body), plain)
  t.regex(JSON.stringify(body.rerank), /"applied":false.*there is no folder `.*tiny`/)
  t.regex(
    (await server.get('/metrics')).bytes.toString(),
    /^siftd_rerank_requests_total\{outcome="failed"\} 1$/m,
  )
})

/** Fields that are sent, and the message. */
const refused: readonly (readonly [object, RegExp])[] = [
  [
    { source: 'huggingFace', url: 'http://a' },
    /field `url` is not available for source `huggingFace`; available fields: source, .*model, revision/,
  ],
  [{ source: 'huggingFace', apiKey: 'x' }, /field `apiKey` is not available for source `huggingFace`/],
  [{ source: 'huggingFace', headers: {} }, /field `headers` is not available/],
  [{ source: 'cohere', revision: 'x' }, /field `revision` is not available for source `cohere`/],
  [{ source: 'huggingFace', pooling: 'forceCls' }, /pooling/],
  [{ source: 'huggingFace', model: 7 }, /model/],
  [{ source: 'huggingFace', timeoutMs: 30_001 }, /30000/],
]
test('fields of another source are refused before the task is accepted', async (t) => {
  const { server } = await world(t)
  for (const [fields, message] of refused) {
    for (const [path, body] of [
      ['/indexes/i/settings', { rerankers: { m: fields } }],
      ['/indexes/i/settings/rerankers', { m: fields }],
    ] as const) {
      const { status, body: answer } = await server.patch(path, body)
      t.deepEqual([status, answer.code], [400, 'invalid_settings_rerankers'])
      t.regex(answer.message, message)
    }
  }
})

withModels('fields of the other kind of source are dropped when the source changes', async (t) => {
  const { server, settings, folder } = await world(t)
  const shown = async () => (await server.get('/indexes/i/settings/rerankers')).body.m
  const service = { source: 'rest', url: 'http://a', apiKey: 'of-the-service', model: 'x', timeoutMs: 7 }
  await settings('i', { m: service })
  t.is((await settings('i', { m: { source: 'huggingFace', model: folder } })).status, 'succeeded')
  t.deepEqual(await shown(), {
    ...{ source: 'huggingFace', model: folder, documentTemplateMaxBytes: 400, timeoutMs: 7 },
    documentTemplate: ((await shown()) as { documentTemplate: string }).documentTemplate,
  } as never)
  const failed = await settings('i', { m: { url: 'http://a' } })
  t.is(failed.error.code, 'invalid_settings_rerankers')
  t.regex(failed.error.message, /`url` is not available for source `huggingFace`/)
  t.is((await settings('i', { m: { source: 'jina' } })).status, 'succeeded')
  t.like(await shown(), { url: 'https://api.jina.ai/v1/rerank', model: 'jina-reranker-v2-base-multilingual' })
})

const isThere = 'what runs models is there'
testNeeding([{ missing: modelRuntime.missing === null ? isThere : null, isDemanded: false }])(
  'without the package a reranker with a local model fails its task with the install command',
  async (t) => {
    const { settings, m } = await world(t)
    const { error } = await settings('i', { m })
    t.is(error.code, 'invalid_settings_rerankers')
    t.regex(
      error.message,
      /`\.rerankers\.m`: .*npm install @siftd\/embed-[\w-]+@0\.0\.0` where siftd is installed .*npm run build:embed/,
    )
  },
)
