/** Rights of keys and tenant tokens in federated searches of other instances. */
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type ExecutionContext } from 'ava'
import { startServer, type TestAnswer, type TestRequest, type TestServer } from '../support/server.js'

const masterKey = 'harbour-lantern-4471-xyz'
const remote = { federationOptions: { remote: 'far' } }
const hydrated = { indexUid: 'books', filter: 'id = 1', ...remote }
const joined = { indexUid: 'books', filter: '_foreign(author, country = FR)', ...remote }

/**
 * A server without documents, and a server with books and authors. The first one has a key for all indexes of the
 * other.
 */
async function pair(t: ExecutionContext): Promise<TestServer> {
  const near = await startServer(t, { masterKey, features: ['network'], allowedNetworks: ['127.0.0.0/8'] })
  const far = await startServer(t, { masterKey, features: ['network', 'foreignKeys'] })
  await far.settle(t, far.patch('/indexes/authors/settings', { filterableAttributes: ['country'] }))
  await far.settle(
    t,
    far.post('/indexes/authors/documents?primaryKey=id', [
      { id: 'a1', country: 'FR' },
      { id: 'a2', country: 'US' },
    ]),
  )
  const foreignKeys = [{ foreignIndexUid: 'authors', fieldName: 'author' }]
  await far.settle(
    t,
    far.patch('/indexes/books/settings', { filterableAttributes: ['id', 'author'], foreignKeys }),
  )
  await far.settle(
    t,
    far.post('/indexes/books/documents?primaryKey=id', [
      { id: 1, author: 'a1' },
      { id: 2, author: 'a2' },
    ]),
  )
  const { body } = await far.post('/keys', { actions: ['search'], indexes: ['*'], expiresAt: null })
  t.is(
    (await near.patch('/network', { remotes: { far: { url: far.url, searchApiKey: body.key } } })).status,
    200,
  )
  return near
}

const uid = '6f1d2a34-9b0c-4e57-8a11-3c5d7e9f0b24'

async function bearer(server: TestServer, indexes: readonly string[]): Promise<TestRequest> {
  const { body } = await server.post('/keys', { actions: ['search'], indexes, expiresAt: null })
  return { headers: { authorization: `Bearer ${body.key}` } }
}

async function tenant(server: TestServer, searchRules: unknown): Promise<TestRequest> {
  await server.post('/keys', { uid, actions: ['search'], indexes: ['*'], expiresAt: null })
  const { key } = (await server.get(`/keys/${uid}`)).body
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ apiKeyUid: uid, searchRules })}`
  const signature = createHmac('sha256', key).update(text).digest('base64url')
  return { headers: { authorization: `Bearer ${text}.${signature}` } }
}

const search = (server: TestServer, query: object, as: TestRequest): Promise<TestAnswer> =>
  server.post('/multi-search', { federation: {}, queries: [query] }, as)

/** Returns the authors in the hits, or the code of the remote's error. */
function authors({ status, body }: TestAnswer): unknown {
  const { far } = (body.remoteErrors ?? {}) as { readonly far?: { readonly code: string } }
  return status !== 200 ? body.code : (far?.code ?? body.hits.map(({ author }) => author))
}

const french = { id: 'a1', country: 'FR' }

test('foreign keys of a remote are followed with the rights of the requesting key or token', async (t) => {
  const near = await pair(t)
  const booksAlone = await bearer(near, ['books'])
  t.deepEqual(authors(await search(near, hydrated, booksAlone)), ['a1'])
  t.is(authors(await search(near, joined, booksAlone)), 'remote_invalid_api_key')

  for (const all of [await bearer(near, ['*']), await bearer(near, ['books', 'auth*'])]) {
    t.deepEqual(authors(await search(near, hydrated, all)), [french])
    t.deepEqual(authors(await search(near, joined, all)), [french])
  }

  const token = await tenant(near, ['books'])
  t.deepEqual(authors(await search(near, hydrated, token)), ['a1'])
  t.is(authors(await search(near, joined, token)), 'remote_invalid_api_key')

  const american = await tenant(near, { books: null, authors: { filter: 'country = US' } })
  t.deepEqual(authors(await search(near, hydrated, american)), [{}])
  t.deepEqual(authors(await search(near, joined, american)), [])
})

test('rights that are too long for a header are passed as the right to follow nothing', async (t) => {
  const near = await pair(t)
  const many = Array.from({ length: 400 }, (_, i) => `other-index-${i}`)
  const token = await tenant(near, ['books', 'authors', ...many])
  t.deepEqual(authors(await search(near, hydrated, token)), ['a1'])
})

test('a filter on another index is not answered by a remote that does not enforce rights', async (t) => {
  const stranger = createServer((_request, answer) => {
    answer.end('{"hits":[],"processingTimeMs":1,"estimatedTotalHits":0}')
  })
  await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
  t.teardown(() => stranger.close())
  const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
  const near = await startServer(t, { masterKey, features: ['network'], allowedNetworks: ['127.0.0.0/8'] })
  await near.patch('/network', { remotes: { far: { url } } })
  const booksAlone = await bearer(near, ['books'])
  for (const filter of [
    joined.filter,
    'NOT _foreign (author, a = 1)',
    ['id = 1', ['_foreign\n(author, a = 1)']],
  ])
    t.is(authors(await search(near, { ...joined, filter }, booksAlone)), 'remote_bad_request')
  t.deepEqual(authors(await search(near, hydrated, booksAlone)), [])
  t.deepEqual(authors(await search(near, joined, await bearer(near, ['*']))), [])
})

test('unreadable rights are refused', async (t) => {
  const server = await startServer(t)
  const headers = { 'siftd-search-rights': 'eyJpbmRleGVzIjpbM119' }
  const { status, body } = await server.post('/multi-search', { queries: [] }, { headers })
  t.deepEqual([status, body.code], [400, 'bad_request'])
})
