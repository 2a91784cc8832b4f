/** Embedders with a model inside the server. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { startHub } from '../models/hub-server.js'
import { meanVector } from '../models/plain-encoder.js'
import { madeModel, writeModel } from '../models/tiny-model.js'
import { modelRuntime } from '../support/requirements.js'
import { startServer } from '../support/server.js'
import { testNeeding } from '../support/test-needing.js'

const withModels = testNeeding([modelRuntime])

const model = madeModel('bert')
const documents = ['red car', 'the blue boats', 'green house on a boat', 'a red house', 'run the car'].map(
  (text, id) => ({ id, text }),
)
const documentTemplate = '{{doc.text}}'

async function world(t: ExecutionContext, hubUrl = 'http://localhost:9') {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-models-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const folder = join(directory, 'tiny')
  await writeModel(folder, model.files)
  const models = { directory, hubUrl }
  const server = await startServer(t, {
    models,
    features: ['compositeEmbedders'],
    allowedNetworks: ['127.0.0.0/8'],
  })
  const settings = (index: string, embedders: object) =>
    server.settle(t, server.patch(`/indexes/${index}/settings/embedders`, embedders))
  const add = (index: string, added: readonly object[]) =>
    server.settle(t, server.post(`/indexes/${index}/documents`, added))
  return { server, settings, add, folder }
}

withModels('a search with a model here is one with the same vectors given by the user', async (t) => {
  const { server, settings, add, folder } = await world(t)
  t.is(
    (await settings('made', { e: { source: 'huggingFace', model: folder, documentTemplate } })).status,
    'succeeded',
  )
  t.is((await settings('given', { e: { source: 'userProvided', dimensions: 32 } })).status, 'succeeded')
  const task = await add('made', documents)
  t.is(task.status, 'succeeded')
  const { body } = await server.get('/indexes/made/documents?retrieveVectors=true')
  const made = body.results.map((document) => document._vectors as { e: { embeddings: number[][] } })
  for (const [at, { text }] of documents.entries()) {
    const [vector = []] = made[at]?.e.embeddings ?? []
    const expected = meanVector(model, text)
    t.is(vector.length, 32)
    t.true(vector.every((component, place) => Math.abs(component - (expected[place] ?? Number.NaN)) < 1e-4))
  }
  await add(
    'given',
    documents.map((document, at) => ({ ...document, _vectors: { e: made[at]?.e.embeddings[0] } })),
  )
  for (const q of ['red', 'boats', 'a house is on the boat']) {
    const asked = {
      q,
      hybrid: { embedder: 'e', semanticRatio: 1 },
      showRankingScore: true,
      retrieveVectors: true,
    }
    const byModel = (await server.post('/indexes/made/search', asked)).body
    const vector = byModel.queryVector as readonly number[]
    const byUser = (await server.post('/indexes/given/search', { ...asked, vector })).body
    const shown = (hits: readonly Record<string, unknown>[]) =>
      hits.map(({ id, _rankingScore }) => [id, _rankingScore])
    t.is(byModel.hits.length, documents.length)
    t.deepEqual(shown(byModel.hits), shown(byUser.hits), q)
    t.is(byModel.semanticHitCount, byUser.semanticHitCount)
  }
  const { body: batches } = await server.get(`/batches?uids=${task.batchUid}`)
  const [batch] = batches.results
  t.true(batch !== undefined && !('embedderRequests' in (batch.stats as object)), 'no provider was asked')
})

withModels('a model of a hub is downloaded by the settings task, and kept for all embedders', async (t) => {
  const hub = await startHub(t, model.files)
  const { settings, add } = await world(t, hub.url)
  const embedder = { source: 'huggingFace', model: 'org/tiny', documentTemplate }
  t.is((await settings('i', { e: embedder })).status, 'succeeded')
  const { length } = hub.requests
  t.true(length > 0)
  t.is((await add('i', documents)).status, 'succeeded')
  t.is((await settings('other', { e: { ...embedder, pooling: 'forceCls' } })).status, 'succeeded')
  t.is(hub.requests.length, length)
  const missing = await settings('other', { f: { ...embedder, revision: 'v9' } })
  t.is(missing.error.code, 'vector_embedding_error')
  t.regex(missing.error.message, /no model `org\/tiny` at the revision `v9`/)
})

withModels('a composite embedder may search with a model here', async (t) => {
  const { server, settings, add, folder } = await world(t)
  const half = { source: 'huggingFace', model: folder }
  const e = {
    source: 'composite',
    searchEmbedder: half,
    indexingEmbedder: { ...half, documentTemplate },
  }
  t.is((await settings('i', { e })).status, 'succeeded')
  t.is((await add('i', documents)).status, 'succeeded')
  const search = { q: 'red car', hybrid: { embedder: 'e', semanticRatio: 1 }, limit: 1 }
  t.is((await server.post('/indexes/i/search', search)).body.hits[0]?.id, 0)
})

withModels('a damaged model fails the task of its settings, which changes nothing', async (t) => {
  const { server, settings, folder } = await world(t)
  await writeModel(folder, new Map([['model.safetensors', Buffer.alloc(7)]]))
  const { error } = await settings('i', { e: { source: 'huggingFace', model: folder } })
  t.is(error.code, 'vector_embedding_error')
  t.regex(error.message, /`model.safetensors` of the model cannot be used/)
  t.deepEqual((await server.get('/indexes/i/settings/embedders')).body, {} as never)
})

const isThere = 'what runs embedding models is there'
testNeeding([{ missing: modelRuntime.missing === null ? isThere : null, isDemanded: false }])(
  'without the package an embedder with a local model fails its task with the install command',
  async (t) => {
    const { settings } = await world(t)
    const { error } = await settings('i', { e: { source: 'huggingFace' } })
    t.is(error.code, 'vector_embedding_error')
    t.regex(
      error.message,
      /npm install @siftd\/embed-[\w-]+@0\.0\.0` where siftd is installed .*npm run build:embed/,
    )
  },
)
