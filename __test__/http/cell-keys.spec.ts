import test from 'ava'
import { Meilisearch } from 'meilisearch'
import { copyKeys } from '../../ts/http/index.js'
import { type CellServer, masterKey, startCells } from '../support/cells.js'
import { checkError } from '../support/refusals.js'
import { alone } from '../support/replicated.js'

// The keys of the home cell are those of all cells.

/** Returns the status of a request that needs a key in a cell, as another cell sends it. */
const statusIn = async (server: CellServer, key: unknown): Promise<number> => {
  const headers = { authorization: `Bearer ${key}`, 'x-siftd-cell': '1' }
  return (await server.get('/indexes', { headers })).status
}

test('a key that is made through any server is valid in all cells at once', async (t) => {
  const { a, b } = await startCells(t)
  const client = new Meilisearch({ host: b.url, apiKey: masterKey })
  const made = await client.createKey({
    name: 'all',
    actions: ['indexes.get'],
    indexes: ['*'],
    expiresAt: null,
  })
  t.deepEqual([await statusIn(a, made.key), await statusIn(b, made.key)], [200, 200])
  t.is((await client.updateKey(made.uid, { name: 'renamed' })).name, 'renamed')
  for (const server of [a, b]) t.is((await server.get(`/keys/${made.uid}`)).body.name, 'renamed')
  t.is((await b.get('/keys')).body.total, 5)
  await client.deleteKey(made.key)
  t.deepEqual([await statusIn(a, made.key), await statusIn(b, made.key)], [403, 403])
})

test('a key is refused as one instance does', async (t) => {
  const { b } = await startCells(t)
  checkError(
    t,
    await b.post('/keys', { actions: ['x'], indexes: [], expiresAt: null }),
    400,
    'invalid_api_key_actions',
  )
  checkError(t, await b.get('/keys/nothing'), 404, 'api_key_not_found')
  const headers = { authorization: undefined }
  checkError(t, await b.get('/keys', { headers }), 401, 'missing_authorization_header')
  const key = { uid: 'a5f27a4c-6a0b-4f7d-8d7e-6f1c3f9f0a11', actions: ['*'], indexes: ['*'], expiresAt: null }
  t.is((await b.post('/keys', key)).status, 201)
  checkError(t, await b.post('/keys', key), 409, 'api_key_already_exists')
  const forged = { headers: { 'x-siftd-cell': '1', 'x-siftd-cell-proof': 'forged' } }
  checkError(t, await b.delete(`/keys/${key.uid}`, forged), 503, 'follower_behind')
})

test('a cell that is away is named, and takes the keys of the home cell later', async (t) => {
  const { a, b, place } = await startCells(t)
  const { cells } = a.known.current
  place((placement) => ({
    ...placement,
    cells: { ...cells, b: { number: 1, urls: ['http://127.0.0.1:9'] } },
  }))
  const key = {
    uid: 'a5f27a4c-6a0b-4f7d-8d7e-6f1c3f9f0a11',
    actions: ['indexes.get'],
    indexes: ['*'],
    expiresAt: null,
  }
  const made = await a.post('/keys', key)
  checkError(t, made, 503, 'bucket_unavailable')
  t.regex(made.body.message, /the key is changed, but not in the cell `b` yet/)
  const { key: value } = (await a.get(`/keys/${key.uid}`)).body
  t.deepEqual([await statusIn(a, value), await statusIn(b, value)], [200, 403])
  const close = copyKeys(b.parts.keys, b.cells, { warn: () => t.fail() })
  await close()
  t.is(await statusIn(b, value), 200)
  t.deepEqual(b.parts.keys.list(), a.parts.keys.list())
})

test('a change by a client is newer than the keys that were just read', async (t) => {
  const { a, b } = await startCells(t)
  const { keys } = b.parts
  const [read, { changes }] = [keys.list(), keys]
  const { uid } = read[0]!
  await keys.delete(uid)
  await keys.take(read, changes)
  t.is(keys.byUid(uid), null)
  await keys.take(read, keys.changes)
  t.deepEqual(keys.byUid(uid), read[0]!)
  await keys.take(a.parts.keys.list(), keys.changes)
  t.deepEqual(keys.list(), a.parts.keys.list())
})

test('an expired key can be renamed', async (t) => {
  const { a, b } = await startCells(t)
  const record = { name: null, description: null, actions: ['search'], indexes: ['*'] }
  const { uid } = await a.parts.keys.create({ uid: null, ...record, expiresAt: '2020-01-01T00:00:00Z' })
  t.is((await b.patch(`/keys/${uid}`, { name: 'old' })).status, 200)
  await copyKeys(b.parts.keys, b.cells, { warn: () => t.fail() })()
  t.is(b.parts.keys.byUid(uid)?.name, 'old')
})

test('a cell takes no keys from a server of the home cell that may lag', async (t) => {
  const { b, place, start } = await startCells(t)
  const lagging = await start('a', { replicated: { ...alone, catchesUp: async () => false } as never })
  place((placement) => ({
    ...placement,
    cells: { ...placement.cells, a: { number: 0, urls: [lagging.url] } },
  }))
  const before = b.parts.keys.list()
  await copyKeys(b.parts.keys, b.cells, { warn: () => undefined })()
  t.deepEqual(b.parts.keys.list(), before)
})
