import { setImmediate as turn } from 'node:timers/promises'
import test from 'ava'
import { KeyBook, type KeyRecord } from '../../ts/auth/index.js'
import { checkError, checkRefusals } from '../support/refusals.js'
import { startServer } from '../support/server.js'

const masterKey = 'harbour-lantern-4471-xyz'
const uid = '6f1d2a34-9b0c-4e57-8a11-3c5d7e9f0b24'
const anyKey = { actions: ['search'], indexes: ['*'], expiresAt: null }

test('a new instance has four keys, listed newest first', async (t) => {
  const server = await startServer(t, { masterKey })
  const { body } = await server.get('/keys')
  t.deepEqual(
    body.results.map(({ name, actions }) => [name, actions]),
    [
      ['Default Search API Key', ['search']],
      ['Default Admin API Key', ['*']],
      ['Default Read-Only Admin API Key', ['*.get', 'keys.get']],
      ['Default Chat API Key', ['chatCompletions', 'search']],
    ],
  )
  t.deepEqual([body.offset, body.limit, body.total], [0, 20, 4])
  const page = await server.get('/keys?limit=2&offset=3')
  t.deepEqual([page.body.results.length, page.body.total], [1, 4])
})

test('the value of a key depends only on master key and uid', async (t) => {
  const vectors = [
    [masterKey, uid, '9a9e3318298a17e7cb5d37648100e33a49edefd26201d04fa722c935ca87f9c0'],
    [
      masterKey,
      '0d9a7c55-1e2f-4b60-9c3d-72f0a1b4e8c6',
      '431212ffe2dc1af07f7c93a8fb2169a3afbcb4025d6d9e6073de6d7d00f071fe',
    ],
    ['another-master-key-000', uid, '36839e6508983126aaeda7747dddc8ef5a08dfd2c6cfb5d0c7bb01d64264398a'],
  ] as const
  for (const [master, keyUid, value] of vectors) {
    const server = await startServer(t, { masterKey: master })
    const { status, body } = await server.post('/keys', { ...anyKey, uid: keyUid.toUpperCase() })
    t.is(status, 201)
    t.is(body.key, value)
    t.is(body.uid, keyUid)
    t.deepEqual((await server.get(`/keys/${value}`)).body, body)
    t.deepEqual((await server.get(`/keys/${keyUid}`)).body, body)
    const again = await server.post('/keys', { ...anyKey, uid: keyUid })
    checkError(t, again, 409, 'api_key_already_exists')
  }
})

test('keys created at the same time keep their order after a restart', async (t) => {
  const records = new Map<string, KeyRecord>()
  const store = {
    keys: async () => [...records.values()].reverse(),
    putKey: async (record: KeyRecord) => void records.set(record.uid, record),
    deleteKey: async () => undefined,
    isCopy: false,
    onReplaced: () => undefined,
  }
  const book = await KeyBook.open(store, masterKey)
  const anything = { uid: null, name: null, description: null, actions: ['search'], indexes: ['*'] } as const
  for (let made = 0; made < 50; made++) await book.create({ ...anything, expiresAt: null })
  const uids = (of: KeyBook) => of.list().map(({ uid }) => uid)
  t.deepEqual(uids(await KeyBook.open(store, masterKey)), uids(book))
})

test('a key that is changed while it is deleted does not come back', async (t) => {
  const records = new Map<string, KeyRecord>()
  let written: Promise<unknown> = Promise.resolve()
  // Writes one row per turn of the event loop, in the order of the calls.
  const write = (row: () => void) => {
    const done = written.then(() => turn()).then(row)
    written = done
    return done
  }
  const store = {
    keys: async () => [...records.values()],
    putKey: (record: KeyRecord) => write(() => void records.set(record.uid, record)),
    deleteKey: (deleted: string) => write(() => void records.delete(deleted)),
    isCopy: false,
    onReplaced: () => undefined,
  }
  const book = await KeyBook.open(store, masterKey)
  const [first, second] = book.list()
  const outcomes = await Promise.allSettled([
    ...[book.delete(first!.uid), book.update(first!.uid, { name: 'late', description: null })],
    ...[book.update(second!.uid, { name: 'early', description: null }), book.delete(second!.uid)],
  ])
  t.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  )
  t.deepEqual([book.byUid(first!.uid), book.byUid(second!.uid)], [null, null])
  t.deepEqual([records.has(first!.uid), records.has(second!.uid)], [false, false])
})

test('only name and description of a key can change, and a deleted key is refused', async (t) => {
  const server = await startServer(t, { masterKey })
  const { body: key } = await server.post('/keys', { ...anyKey, uid, description: 'first' })
  t.deepEqual(Object.keys(key), [
    'name',
    'description',
    'key',
    'uid',
    'actions',
    'indexes',
    'expiresAt',
    'createdAt',
    'updatedAt',
  ])
  const patched = await server.patch(`/keys/${uid}`, { name: 'quay', description: null })
  t.deepEqual(patched.body, { ...key, name: 'quay', description: null, updatedAt: patched.body.updatedAt })
  // Trailing zeros are omitted, and `Z` sorts after digits.
  t.true(patched.body.updatedAt.slice(0, -1) > key.updatedAt.slice(0, -1))
  const frozen = ['actions', 'indexes', 'expiresAt', 'createdAt', 'updatedAt', 'uid']
  await checkRefusals(t, server, [
    ...frozen.map((field) => ({
      method: 'PATCH',
      path: `/keys/${uid}`,
      body: { [field]: 'x' },
      code: `immutable_api_key_${field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`,
      names: field,
    })),
    { method: 'PATCH', path: `/keys/${uid}`, body: { key: 'x' }, code: 'bad_request' },
    { method: 'PATCH', path: `/keys/${uid}`, body: { name: 3 }, code: 'invalid_api_key_name' },
    { method: 'PATCH', path: '/keys/zzz', body: {}, status: 404, code: 'api_key_not_found', names: 'zzz' },
  ])
  const holder = { headers: { authorization: `Bearer ${key.key}` } }
  checkError(t, await server.post('/indexes/a/search', {}, holder), 404, 'index_not_found')
  const deleted = await server.delete(`/keys/${uid}`)
  t.deepEqual([deleted.status, deleted.bytes.length], [204, 0])
  const refused = await server.post('/indexes/a/search', {}, holder)
  checkError(t, refused, 403, 'invalid_api_key')
  const missing = await server.delete(`/keys/${uid}`)
  checkError(t, missing, 404, 'api_key_not_found')
  // The Rust SDK compares both texts.
  t.is(refused.body.message, 'The provided API key is invalid.')
  t.is(missing.body.message, `API key \`${uid}\` not found.`)
})

test('expiry dates are accepted in four forms, and refused in the past', async (t) => {
  const server = await startServer(t, { masterKey })
  const forms = [
    ['2090-05-06', '2090-05-06T00:00:00Z'],
    ['2090-05-06 07:08:09', '2090-05-06T07:08:09Z'],
    ['2090-05-06T07:08:09', '2090-05-06T07:08:09Z'],
    ['2090-05-06T07:08:09.5+02:00', '2090-05-06T07:08:09.5+02:00'],
    ['2090-05-06T07:08:09.000Z', '2090-05-06T07:08:09Z'],
    ['2090-05-06T07:08:09.120-00:00', '2090-05-06T07:08:09.12Z'],
  ]
  for (const [sent, shown] of forms) {
    t.is((await server.post('/keys', { ...anyKey, expiresAt: sent })).body.expiresAt, shown)
  }
  const noDates = ['2090-02-30', '2090-13-01', '2090-05-06T24:00:00Z', 'tomorrow', '', '2090-05-06T07:08']
  const refused = ['2001-01-01', ...noDates, 4, []]
  await checkRefusals(
    t,
    server,
    refused.map((expiresAt) => ({
      path: '/keys',
      body: { ...anyKey, expiresAt },
      code: 'invalid_api_key_expires_at',
    })),
  )
})

test('bad keys are refused and leave no trace', async (t) => {
  const server = await startServer(t, { masterKey })
  const path = '/keys'
  await checkRefusals(t, server, [
    { path, body: {}, code: 'missing_api_key_actions' },
    { path, body: { actions: [], indexes: [] }, code: 'missing_api_key_expires_at' },
    { path, body: { actions: [], expiresAt: null }, code: 'missing_api_key_indexes' },
    { path, body: { ...anyKey, actions: ['keys.*'] }, code: 'invalid_api_key_actions', names: 'keys.*' },
    { path, body: { ...anyKey, actions: 'search' }, code: 'invalid_api_key_actions' },
    { path, body: { ...anyKey, indexes: ['bo*ats'] }, code: 'invalid_api_key_indexes', names: 'bo*ats' },
    { path, body: { ...anyKey, uid: null }, code: 'invalid_api_key_uid' },
    { path, body: { ...anyKey, uid: 'nope' }, code: 'invalid_api_key_uid' },
    { path, body: { ...anyKey, name: 1 }, code: 'invalid_api_key_name' },
    { path, body: { ...anyKey, description: [] }, code: 'invalid_api_key_description' },
    { path, body: { ...anyKey, expires_at: null }, code: 'bad_request', names: 'expiresAt' },
    {
      path,
      body: { ...anyKey, actions: ['version'], indexes: ['boats'] },
      code: 'index_scoped_api_key_with_global_action',
      names: 'version',
    },
    { method: 'GET', path: '/keys?limit=-1', code: 'invalid_api_key_limit' },
    { method: 'GET', path: '/keys?offset=x', code: 'invalid_api_key_offset' },
    { method: 'GET', path: '/keys?page=1', code: 'bad_request' },
  ])
  t.is((await server.get('/keys')).body.total, 4)
})

test('without a master key everything is open except the keys', async (t) => {
  const server = await startServer(t)
  const bearer = (authorization: string) => ({ headers: { authorization } })
  t.is((await server.get('/indexes')).status, 200)
  t.is((await server.get('/indexes', bearer('Bearer nonsense'))).status, 200)
  checkError(t, await server.get('/keys'), 401, 'missing_master_key')
  checkError(t, await server.get('/keys', bearer('Bearer x')), 401, 'missing_master_key')
  checkError(t, await server.get('/indexes', bearer('Basic abc')), 401, 'missing_authorization_header')
  checkError(t, await server.get('/indexes', bearer('Bearer')), 403, 'invalid_api_key')
})

test('with a master key a request needs a key with its actions', async (t) => {
  const server = await startServer(t, { masterKey })
  const get = (authorization: string | undefined) => server.get('/indexes', { headers: { authorization } })
  t.is((await get(`Bearer ${masterKey}`)).status, 200)
  checkError(t, await get(undefined), 401, 'missing_authorization_header')
  checkError(t, await get(`bearer ${masterKey}`), 401, 'missing_authorization_header')
  checkError(t, await get(`Bearer  ${masterKey}`), 403, 'invalid_api_key')
  checkError(t, await get('Bearer wrong'), 403, 'invalid_api_key')
  t.is((await server.get('/health', { headers: { authorization: undefined } })).status, 200)
  const unauthorised = await server.post('/indexes', '{', { headers: { authorization: 'Bearer wrong' } })
  checkError(t, unauthorised, 403, 'invalid_api_key')
})

test('a key is limited to its indexes and actions', async (t) => {
  const server = await startServer(t, { masterKey })
  for (const index of ['boats', 'boats_2', 'trains']) {
    await server.settle(t, server.post('/indexes', { uid: index }))
  }
  const { body: key } = await server.post('/keys', { actions: ['*'], indexes: ['boats*'], expiresAt: null })
  const holder = { headers: { authorization: `Bearer ${key.key}` } }
  const upper = { headers: { authorization: `Bearer ${key.key.toUpperCase()}` } }
  t.is((await server.get('/indexes/boats', upper)).status, 200)
  const listed = await server.get('/indexes', holder)
  t.deepEqual(
    listed.body.results.map((index) => index.uid),
    ['boats', 'boats_2'],
  )
  t.is(listed.body.total, 2)
  t.deepEqual(Object.keys((await server.get('/stats', holder)).body.indexes as object), ['boats', 'boats_2'])
  const forbidden = { ...holder, status: 403, code: 'invalid_api_key' }
  await checkRefusals(t, server, [
    { method: 'GET', path: '/indexes/trains', ...forbidden, names: 'trains' },
    { path: '/indexes', body: { uid: 'trains' }, ...forbidden },
    { path: '/dumps', ...forbidden },
    { method: 'GET', path: '/version', ...forbidden },
    { method: 'GET', path: '/keys', ...forbidden },
    { path: '/swap-indexes', body: [{ indexes: ['boats', 'trains'] }], ...forbidden },
    { method: 'PATCH', path: '/indexes/boats', body: { uid: 'trains_2' }, ...forbidden },
    {
      path: '/multi-search',
      body: { queries: [{ indexUid: 'boats' }, { indexUid: 'trains' }] },
      ...forbidden,
      names: '.queries[1]',
    },
    {
      path: '/multi-search',
      body: { federation: { facetsByIndex: { trains: ['x'] } }, queries: [{ indexUid: 'boats' }] },
      ...forbidden,
    },
  ])
})

test('wildcard actions grant their members, which exclude reading keys', async (t) => {
  const server = await startServer(t, { masterKey })
  await server.settle(t, server.post('/indexes', { uid: 'boats' }))
  const statusWith = async (actions: readonly string[], method: string, path: string, body?: unknown) => {
    const { body: key } = await server.post('/keys', { actions, indexes: ['*'], expiresAt: null })
    return (await server.request(method, path, { body, headers: { authorization: `Bearer ${key.key}` } }))
      .status
  }
  t.is(await statusWith(['*.get'], 'GET', '/keys'), 403)
  t.is(await statusWith(['*.get', 'keys.get'], 'GET', '/keys'), 200)
  t.is(await statusWith(['*.get'], 'POST', '/indexes/boats/search', {}), 200)
  t.is(await statusWith(['*.get'], 'POST', '/indexes/boats/documents', []), 403)
  t.is(await statusWith(['documents.*'], 'POST', '/indexes/boats/documents', []), 202)
  t.is(await statusWith(['documents.*'], 'POST', '/indexes/boats/documents/edit', {}), 400)
  t.is(await statusWith(['documents.add'], 'DELETE', '/indexes/boats/documents'), 403)
  t.is(await statusWith(['settings.get'], 'POST', '/render-template', {}), 403)
  t.is(await statusWith(['settings.get', 'documents.get'], 'POST', '/render-template', {}), 400)
  t.is(await statusWith([], 'GET', '/indexes'), 403)
})

test('a missing index is created only by a key that may create it', async (t) => {
  const server = await startServer(t, { masterKey })
  const addWith = async (actions: readonly string[], index: string) => {
    const { body: key } = await server.post('/keys', { actions, indexes: ['boats_*'], expiresAt: null })
    const headers = { authorization: `Bearer ${key.key}` }
    return server.settle(t, server.post(`/indexes/${index}/documents`, [{ id: 1 }], { headers }))
  }
  const refused = await addWith(['documents.*'], 'boats_7')
  t.deepEqual([refused.status, refused.error.code], ['failed', 'index_not_found'])
  t.is((await addWith(['documents.add', 'indexes.create'], 'boats_9')).status, 'succeeded')
  const settings = { actions: ['settings.update'], indexes: ['boats_*'], expiresAt: null }
  const { body: key } = await server.post('/keys', settings)
  const headers = { authorization: `Bearer ${key.key}` }
  const put = server.put('/indexes/boats_5/settings/stop-words', ['a'], { headers })
  t.is((await server.settle(t, put)).error?.code, 'index_not_found')
})

test('an expired key is refused but still listed', async (t) => {
  let clock = Date.now()
  const server = await startServer(t, { masterKey, now: () => clock })
  const expiresAt = new Date(clock + 3_600_000).toISOString()
  const { body: key } = await server.post('/keys', { actions: ['indexes.get'], indexes: ['*'], expiresAt })
  const get = () => server.get('/indexes', { headers: { authorization: `Bearer ${key.key}` } })
  t.is((await get()).status, 200)
  clock += 3_600_000
  checkError(t, await get(), 403, 'invalid_api_key')
  t.is((await server.get(`/keys/${key.key}`)).status, 200)
})

test('only one of concurrent requests that create the same key succeeds', async (t) => {
  const server = await startServer(t, { masterKey })
  const answers = await Promise.all(Array.from({ length: 5 }, () => server.post('/keys', { ...anyKey, uid })))
  t.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409])
  const names = ['a', 'b', 'c']
  await Promise.all(names.map((name) => server.patch(`/keys/${uid}`, { name })))
  await Promise.all([
    server.patch(`/keys/${uid}`, { name: 'z' }),
    server.patch(`/keys/${uid}`, { description: 'd' }),
  ])
  t.like((await server.get(`/keys/${uid}`)).body, { name: 'z', description: 'd' })
})
