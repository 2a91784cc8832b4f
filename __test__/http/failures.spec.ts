import test from 'ava'
import type { Engine } from '../../ts/engine/index.js'
import { readJson, toText, toValue } from '../../ts/operations/requests/parse/index.js'
import fc from '../support/property.js'
import { checkError } from '../support/refusals.js'
import { startServer, type TestServer } from '../support/server.js'

test('a bug is answered with internal, a fault of the machine with a specific code', async (t) => {
  const failures = [
    [new TypeError('a bug'), 500, 'internal'],
    [Object.assign(new Error('write'), { code: 'ENOSPC' }), 422, 'no_space_left_on_device'],
    [Object.assign(new Error('open'), { code: 'EMFILE' }), 422, 'too_many_open_files'],
    [Object.assign(new Error('read'), { code: 'EIO' }), 422, 'io_error'],
  ] as const
  let failure: Error = failures[0][0]
  const failing = (engine: Engine): Engine =>
    new Proxy(engine, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (name === 'search') return () => Promise.reject(failure)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  const server = await startServer(t, { wrapEngine: failing })
  await server.settle(t, server.post('/indexes', { uid: 'a' }))
  for (const [error, status, code] of failures) {
    failure = error
    const answer = await server.post('/indexes/a/search', {})
    checkError(t, answer, status, code)
    t.false(answer.body.message.includes('a bug'), 'what broke inside is not told')
  }
})

test('a search finds no index if it is deleted meanwhile, and the new documents if it is swapped', async (t) => {
  let meanwhile = async (): Promise<unknown> => null
  const slow = (engine: Engine): Engine =>
    new Proxy(engine, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'search' && name !== 'multiSearch') return value.bind(target)
        return async (...args: unknown[]) => {
          const change = meanwhile
          meanwhile = async () => null
          await change()
          return value.apply(target, args)
        }
      },
    })
  const server = await startServer(t, { wrapEngine: slow })
  for (const index of ['a', 'b', 'c', 'd']) {
    await server.settle(t, server.post(`/indexes/${index}/documents`, [{ id: index }]))
  }
  const deleting = (uid: string) => () => server.settle(t, server.delete(`/indexes/${uid}`))
  meanwhile = deleting('a')
  checkError(t, await server.post('/indexes/a/search', {}), 404, 'index_not_found')
  meanwhile = async () => {
    await server.settle(t, server.post('/swap-indexes', [{ indexes: ['b', 'c'] }]))
    await deleting('c')()
  }
  t.deepEqual((await server.post('/indexes/b/search', {})).body.hits, [{ id: 'c' }] as never)
  meanwhile = deleting('d')
  const queries = [{ indexUid: 'b' }, { indexUid: 'd' }]
  checkError(t, await server.post('/multi-search', { queries }), 400, 'index_not_found')
})

test('the JSON reader reads what JSON.parse reads, and keeps digits and the order of keys', (t) => {
  const property = fc.property(fc.json({ maxDepth: 4 }), (text) => {
    const node = readJson(Buffer.from(text))
    t.deepEqual(toValue(node), JSON.parse(text))
    t.deepEqual(toValue(readJson(Buffer.from(toText(node)))), JSON.parse(text))
  })
  fc.assert(property, { numRuns: 300 })
  const exact = '{"2":1.0,"1":[18446744073709551615,-0,1E5],"a":"\\u00e9\\n\\"","a":null}'
  t.is(
    toText(readJson(Buffer.from(exact))),
    '{"2":1.0,"1":[18446744073709551615,-0,1E5],"a":"é\\n\\"","a":null}',
  )
})

const bodyRoutes: readonly (readonly [string, string])[] = [
  ['POST', '/indexes'],
  ['PATCH', '/indexes/a'],
  ['POST', '/indexes/a/fields'],
  ['POST', '/indexes/a/search'],
  ['POST', '/indexes/a/facet-search'],
  ['POST', '/indexes/a/similar'],
  ['POST', '/multi-search'],
  ['POST', '/swap-indexes'],
  ['POST', '/indexes/a/documents'],
  ['POST', '/indexes/a/documents/fetch'],
  ['POST', '/indexes/a/documents/delete'],
  ['POST', '/indexes/a/documents/delete-batch'],
  ['POST', '/indexes/a/documents/edit'],
  ['PATCH', '/indexes/a/settings'],
  ['PUT', '/indexes/a/settings/filterable-attributes'],
  ['PUT', '/indexes/a/settings/synonyms'],
  ['PATCH', '/indexes/a/settings/typo-tolerance'],
  ['PATCH', '/indexes/a/settings/embedders'],
  ['POST', '/keys'],
  ['PATCH', '/keys/x'],
  ['POST', '/webhooks'],
  ['PATCH', '/network'],
  ['PATCH', '/experimental-features'],
  ['POST', '/render-template'],
  ['POST', '/export'],
  ['POST', '/dynamic-search-rules'],
  ['PATCH', '/dynamic-search-rules/a'],
]
const names = [
  'uid primaryKey indexes rename q filter sort facets vector hybrid embedder offset limit page facetName queries',
  'federation indexUid ids fields function context stopWords embedders actions expiresAt url headers remotes self',
  'template input kind inline payloadSize conditions filterableAttributes typoTolerance locales __proto__ constructor',
]
  .join(' ')
  .split(' ')

test('random bodies are answered or refused, never by a fault of the server', async (t) => {
  const server = await startServer(t, { features: ['network', 'renderRoute'] })
  await server.settle(t, server.post('/indexes/a/documents', [{ id: 1, t: 'x' }]))
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(
        'null',
        'true',
        '0',
        '-1',
        '1.5',
        '1e30',
        '"a"',
        '"a:asc"',
        '"x = 1"',
        '""',
        '"*"',
        '[]',
        '{}',
      ),
      fc.string({ maxLength: 8 }).map((text) => JSON.stringify(text)),
      fc.array(tie('value') as fc.Arbitrary<string>, { maxLength: 3 }).map((items) => `[${items.join()}]`),
      fc
        .array(fc.tuple(fc.constantFrom(...names), tie('value') as fc.Arbitrary<string>), { maxLength: 4 })
        .map((entries) => `{${entries.map(([name, one]) => `"${name}":${one}`).join()}}`),
    ),
  }))
  const property = fc.asyncProperty(
    fc.constantFrom(...bodyRoutes),
    value as fc.Arbitrary<string>,
    async (route, body) => {
      await expectAnswer(server, route, body)
    },
  )
  await t.notThrowsAsync(fc.assert(property, { numRuns: 400 }))
  t.is((await server.get('/health')).status, 200)
})

async function expectAnswer(server: TestServer, [method, path]: readonly [string, string], body: string) {
  const { status, bytes } = await server.request(method, path, { body })
  if (status >= 500) throw new Error(`${method} ${path} ${body} answered ${status}: ${bytes}`)
}
