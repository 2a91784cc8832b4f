import test from 'ava'
import { OutboundError } from '../../ts/outbound/index.js'
import { type Peer, type PeerCall, PeerError } from '../../ts/transfer/index.js'
import { copyDocuments } from '../../ts/transfer/migrate/documents.js'
import { copySettings } from '../../ts/transfer/migrate/settings.js'

// Fake instances with refusals that real instances show only when they are large, or with another program.

type Answer = (method: string, path: string, body: unknown) => unknown

/** @param answer returns the answer to a call, or throws */
function fakePeer(answer: Answer): Peer {
  const bytes: Peer['bytes'] = async (method, path, { body }: PeerCall = {}) =>
    Buffer.from(JSON.stringify(answer(method, path, body)))
  return {
    flag: 'from',
    origin: 'http://fake',
    bytes,
    json: async (...call) => JSON.parse((await bytes(...call)).toString()),
    greet: async () => undefined,
  }
}

const index = { uid: 'films', primaryKey: 'id', createdAt: '2024-01-01T00:00:00Z' }
const DOCUMENTS = 1_000

/** Lists documents, at most `pageMax` per page. */
const listing = (pageMax: number, limits: number[]): Peer =>
  fakePeer((_method, _path, body) => {
    const { offset, limit } = body as { offset: number; limit: number }
    limits.push(limit)
    if (limit > pageMax) {
      const cause = new OutboundError('too_large', 'too large')
      throw new PeerError('too large', null, null, { cause })
    }
    const results = Array.from({ length: Math.min(limit, DOCUMENTS - offset) }, (_, at) => ({
      id: offset + at,
    }))
    return { results, offset, limit, total: DOCUMENTS }
  })

test('pages and uploads that are too large are split, and every document is copied once', async (t) => {
  const limits: number[] = []
  const got: string[] = []
  const to = fakePeer((method, _path, body) => {
    if (method === 'GET') return { status: 'succeeded' }
    const lines = String(body).split('\n')
    if (lines.length > 60) throw new PeerError('too large', 413, 'payload_too_large')
    return { taskUid: got.push(...lines) }
  })
  const seen: number[] = []
  const progress = async (documents: number): Promise<void> => void seen.push(documents)
  const total = await copyDocuments({ from: listing(150, limits), to, index, copied: 0, progress })
  t.is(total, DOCUMENTS)
  t.deepEqual(
    got,
    Array.from({ length: DOCUMENTS }, (_, id) => JSON.stringify({ id })),
  )
  t.is(seen.at(-1), DOCUMENTS)
  t.deepEqual(
    seen,
    [...seen].sort((a, b) => a - b),
  )
  t.true(limits.includes(400) && limits.includes(100), limits.join())
})

test('progress stops before the first failed upload', async (t) => {
  let uploads = 0
  const to = fakePeer((method, path) => {
    if (method !== 'GET') return { taskUid: ++uploads }
    if (path.split('?', 1)[0] !== '/tasks/2') return { status: 'succeeded' }
    return { status: 'failed', error: { code: 'invalid_document_id', message: 'no id' } }
  })
  const seen: number[] = []
  const progress = async (documents: number): Promise<void> => void seen.push(documents)
  const copy = copyDocuments({ from: listing(100, []), to, index, copied: 0, progress })
  await t.throwsAsync(copy, {
    instanceOf: PeerError,
    message: /^index `films`: copying documents 101 to 200 failed: invalid_document_id no id; correct them/,
  })
  t.deepEqual(seen, [100])
})

test('a substitute embedder is created once and does not replace a later embedder', async (t) => {
  const vectors = { local: { embeddings: [[1, 2, 3]], regenerate: true } }
  const from = fakePeer(() => ({ results: [{ _vectors: {} }, { _vectors: vectors }], total: 2 }))
  const source = {
    embedders: { local: { source: 'huggingFace', model: 'a/b' } },
    newer: 1,
    prefixSearch: 'disabled',
  }
  const sent: unknown[] = []
  const to = fakePeer((method, _path, body) =>
    method === 'GET' ? { status: 'succeeded' } : { taskUid: sent.push(body) },
  )
  const target = { embedders: {}, prefixSearch: 'disabled' }
  const first = await copySettings('films', { from, source, to, target })
  t.deepEqual(sent, [{ embedders: { local: { source: 'userProvided', dimensions: 3 } } }])
  t.is(first.remarks.length, 2)
  t.regex(first.remarks[0] ?? '', /the target does not know the setting `newer`/)
  t.regex(first.remarks[1] ?? '', /embedder `local` runs a model inside the source/)

  const set = { ...target, embedders: { local: { source: 'ollama', model: 'm' } } }
  const second = await copySettings('films', { from, source, to, target: set })
  t.deepEqual([sent.length, second.sent], [1, []])
})

test('settings that an instance shows only if they are set are copied; those of a newer version are named', async (t) => {
  const from = fakePeer(() => ({ results: [], total: 0 }))
  const source = { stopWords: ['the'], stemming: ['eng'], pinyin: true, rerankers: {}, chat: {}, newer: 1 }
  const sent: unknown[] = []
  const asked: string[] = []
  const to = fakePeer((method, path, body) => {
    if (method !== 'GET') return { taskUid: sent.push(body) }
    if (path.startsWith('/tasks/')) return { status: 'succeeded' }
    asked.push(path)
    if (path.endsWith('/pinyin')) throw new PeerError('no such route', 404)
    return []
  })
  const { remarks } = await copySettings('films', { from, source, to, target: { stopWords: [] } })
  t.deepEqual(sent, [{ stopWords: ['the'], stemming: ['eng'], rerankers: {} }])
  t.deepEqual(
    asked,
    ['stemming', 'pinyin', 'rerankers'].map((segment) => `/indexes/films/settings/${segment}`),
  )
  t.deepEqual(
    remarks,
    ['pinyin', 'chat', 'newer'].map(
      (name) => `index \`films\`: the target does not know the setting \`${name}\`: it is not copied`,
    ),
  )
})

test('the length of vectors is found in documents that are too large for one page', async (t) => {
  const limits: number[] = []
  const from = fakePeer((_method, _path, body) => {
    const { limit } = body as { limit: number }
    limits.push(limit)
    if (limit > 3)
      throw new PeerError('too large', null, null, { cause: new OutboundError('too_large', 'long') })
    const vectors = { made: { embeddings: [[1, 2]], regenerate: true }, older: [1, 2, 3], none: null }
    return { results: [{ _vectors: vectors }, { _vectors: null }, {}], total: 3 }
  })
  const sent: unknown[] = []
  const to = fakePeer((method, _path, body) =>
    method === 'GET' ? { status: 'succeeded' } : { taskUid: sent.push(body) },
  )
  const made = { source: 'ollama', model: 'm' }
  await copySettings('films', { from, source: { embedders: { made } }, to, target: { embedders: {} } })
  t.deepEqual(sent, [{ embedders: { made: { ...made, dimensions: 2 } } }])
  t.deepEqual(limits, [100, 50, 25, 12, 6, 3])
})

test('rerankers are copied without masked secrets, which are named', async (t) => {
  const from = fakePeer(() => ({ results: [], total: 0 }))
  const source = {
    rerankers: { m: { source: 'jina', apiKey: 'seXXXX...', headers: { 'x-key': 'XXX...', a: 'b' } } },
  }
  const sent: unknown[] = []
  const to = fakePeer((method, _path, body) =>
    method === 'GET' ? { status: 'succeeded' } : { taskUid: sent.push(body) },
  )
  const { remarks } = await copySettings('films', { from, source, to, target: { rerankers: {} } })
  t.deepEqual(sent, [{ rerankers: { m: { source: 'jina', headers: { a: 'b' } } } }])
  t.regex(remarks.join(), /reranker `m` needs apiKey, headers\.x-key again.*settings\/rerankers$/)
})

test('rerankers with a model inside the source are not copied, which is said', async (t) => {
  const from = fakePeer(() => ({ results: [], total: 0 }))
  const local = { source: 'huggingFace', model: 'org/tiny' }
  const sent: unknown[] = []
  const to = fakePeer((method, _path, body) =>
    method === 'GET' ? { status: 'succeeded' } : { taskUid: sent.push(body) },
  )
  const target = { rerankers: {} }
  const both = { rerankers: { local, tei: { source: 'tei', url: 'http://a' } } }
  const { remarks } = await copySettings('films', { from, source: both, to, target })
  t.deepEqual(sent, [{ rerankers: { tei: { source: 'tei', url: 'http://a' } } }])
  t.regex(remarks.join(), /reranker `local` runs a model inside the source.*settings\/rerankers$/)
  const only = await copySettings('films', { from, source: { rerankers: { local } }, to, target })
  t.deepEqual([sent.length, only.sent], [1, []])
})
