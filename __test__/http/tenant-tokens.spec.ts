import { createHmac } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import { checkError } from '../support/refusals.js'
import { startServer, type TestServer } from '../support/server.js'

const masterKey = 'harbour-lantern-4471-xyz'
const uid = '6f1d2a34-9b0c-4e57-8a11-3c5d7e9f0b24'
const secret = '9a9e3318298a17e7cb5d37648100e33a49edefd26201d04fa722c935ca87f9c0'
const hashes = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' }
/** Made elsewhere with the key above: `boats` where `port = oslo`. */
const vector =
  'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhcGlLZXlVaWQiOiI2ZjFkMmEzNC05YjBjLTRlNTctOGExMS0zYzVkN2U5ZjBiMjQiLCJzZWFyY2hSdWxlcyI6eyJib2F0cyI6eyJmaWx0ZXIiOiJwb3J0ID0gb3NsbyJ9fX0.XHXKiWJm7eILNMyGsSVgPNu7UzzNaGZI15Xy4pfT_4U'

interface TokenParts {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly alg?: keyof typeof hashes
  readonly header?: Readonly<Record<string, unknown>>
  readonly signedWith?: string
}

function token({
  claims,
  alg = 'HS256',
  header = { alg, typ: 'JWT' },
  signedWith = secret,
}: TokenParts): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part(header)}.${part({ apiKeyUid: uid, searchRules: ['*'], ...claims })}`
  return `${text}.${createHmac(hashes[alg], signedWith).update(text).digest('base64url')}`
}

const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } })

async function harbour(t: ExecutionContext, indexes: readonly string[] = ['*']): Promise<TestServer> {
  const server = await startServer(t, { masterKey })
  await server.post('/keys', { uid, actions: ['search'], indexes, expiresAt: null })
  for (const index of ['boats', 'cars']) {
    await server.settle(
      t,
      server.put(`/indexes/${index}/settings/filterable-attributes`, ['port', 'length', 'a']),
    )
    const documents = [
      { id: 1, port: 'oslo', length: 20, a: 1 },
      { id: 2, port: 'oslo', length: 5, a: 2 },
      { id: 3, port: 'bergen', length: 30, a: 1 },
    ]
    await server.settle(t, server.post(`/indexes/${index}/documents`, documents))
  }
  return server
}

async function ids(server: TestServer, index: string, text: string, body: object = {}): Promise<unknown> {
  const answer = await server.post(`/indexes/${index}/search`, body, bearer(text))
  return answer.body.hits?.map((hit) => hit.id) ?? answer.body.code
}

test('a search is filtered by the token and by the request', async (t) => {
  const server = await harbour(t, ['boats'])
  t.deepEqual(await ids(server, 'boats', vector), [1, 2])
  t.deepEqual(await ids(server, 'boats', vector, { filter: 'length > 10' }), [1])
  t.deepEqual(await ids(server, 'boats', vector, { filter: [['length > 10', 'a = 2']] }), [1, 2])
  const merged = await server.post('/multi-search', { queries: [{ indexUid: 'boats' }] }, bearer(vector))
  t.deepEqual(
    merged.body.results[0]?.hits.map((hit) => hit.id),
    [1, 2],
  )
})

test('of several rules of a token the most specific applies alone', async (t) => {
  const server = await harbour(t)
  const rules = { '*': { filter: 'a = 1' }, 'boat*': {}, ca: null }
  const text = token({ claims: { searchRules: rules } })
  t.deepEqual(await ids(server, 'boats', text), [1, 2, 3])
  t.deepEqual(await ids(server, 'cars', text), [1, 3])
  const exact = token({ claims: { searchRules: { 'boats*': null, boats: { filter: ['a = 2'] } } } })
  t.deepEqual(await ids(server, 'boats', exact), [2])
})

test('tokens open searches of the allowed indexes, nothing else', async (t) => {
  const server = await harbour(t, ['cars'])
  const text = token({ claims: { searchRules: ['boats', 'cars'] } })
  t.deepEqual(await ids(server, 'cars', text), [1, 2, 3])
  const refused = await server.post('/indexes/boats/search', {}, bearer(text))
  checkError(t, refused, 403, 'invalid_api_key')
  t.false(refused.body.message.includes('cars'), 'what the key may see is not told')
  checkError(t, await server.get('/indexes/cars/documents', bearer(text)), 403, 'invalid_api_key')
  checkError(t, await server.get('/indexes', bearer(text)), 403, 'invalid_api_key')
})

test('all three algorithms are accepted, and an expiry that is null or to come', async (t) => {
  const server = await harbour(t)
  for (const alg of ['HS256', 'HS384', 'HS512'] as const) {
    t.deepEqual(await ids(server, 'boats', token({ alg })), [1, 2, 3], alg)
  }
  const soon = Math.floor(Date.now() / 1000) + 3600
  for (const claims of [{ exp: null }, { exp: soon }, { nbf: soon, iss: 'x', colour: 'red' }]) {
    t.deepEqual(await ids(server, 'boats', token({ claims })), [1, 2, 3], JSON.stringify(claims))
  }
})

test('a token with anything wrong is refused', async (t) => {
  const server = await harbour(t)
  const past = Math.floor(Date.now() / 1000) - 3600
  const bad: Readonly<Record<string, string>> = {
    'wrong secret': token({ signedWith: 'wrong' }),
    'signed with the master key': token({ signedWith: masterKey }),
    'signed with the uid': token({ signedWith: uid }),
    'no algorithm': token({ header: { alg: 'none' } }),
    'another algorithm': token({ header: { alg: 'RS256' } }),
    'algorithm and signature differ': token({ header: { alg: 'HS512' } }),
    expired: token({ claims: { exp: past } }),
    'expiry as text': token({ claims: { exp: '99999999999' } }),
    'fractional expiry': token({ claims: { exp: 99999999999.5 } }),
    audience: token({ claims: { aud: 'me' } }),
    'no rules': token({ claims: { searchRules: undefined } }),
    'rules of a wrong type': token({ claims: { searchRules: 'boats' } }),
    'a malformed pattern': token({ claims: { searchRules: ['bo*ats'] } }),
    'a rule of a wrong type': token({ claims: { searchRules: { boats: 3 } } }),
    'unknown key': token({ claims: { apiKeyUid: '00000000-9b0c-4e57-8a11-3c5d7e9f0b24' } }),
    'no key': token({ claims: { apiKeyUid: undefined } }),
    'cut off': token({}).slice(0, -4),
  }
  for (const [what, text] of Object.entries(bad)) {
    const answer = await server.post('/indexes/boats/search', {}, bearer(text))
    checkError(t, answer, 403, 'invalid_api_key', what)
  }
  const badFilter = token({ claims: { searchRules: { boats: { filter: 3 } } } })
  checkError(
    t,
    await server.post('/indexes/boats/search', {}, bearer(badFilter)),
    400,
    'invalid_search_filter',
  )
  let filter: unknown = 'port = oslo'
  for (let level = 0; level < 500; level++) filter = [filter]
  const nested = bearer(token({ claims: { searchRules: { boats: { filter } } } }))
  checkError(t, await server.post('/indexes/boats/search', {}, nested), 400, 'invalid_search_filter')
  await server.delete(`/keys/${uid}`)
  checkError(t, await server.post('/indexes/boats/search', {}, bearer(token({}))), 403, 'invalid_api_key')
})
