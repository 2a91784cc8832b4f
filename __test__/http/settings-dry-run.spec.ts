/** `dryRun=true` on writes of settings: reports the cost of the change and stores nothing. */
import test from 'ava'
import { startServer, testEngine } from '../support/server.js'

const path = '/indexes/ships/settings'

interface Case {
  readonly change: object
  /** Setting → cost; by engine if they differ. */
  readonly costs: Readonly<Record<string, string | Readonly<Record<'native' | 'fallback', string>>>>
  readonly embeddings?: object
}

const cases: Readonly<Record<string, Case>> = {
  'the current settings': { change: { displayedAttributes: ['*'], synonyms: null }, costs: {} },
  synonyms: { change: { synonyms: { ship: ['vessel'] } }, costs: { synonyms: 'metadata' } },
  'ranking rules based on words': {
    change: { rankingRules: ['words', 'exactness'] },
    costs: { rankingRules: 'metadata' },
  },
  'a ranking rule that sorts': {
    change: { rankingRules: ['words', 'year:desc'] },
    costs: { rankingRules: 'columns' },
  },
  'a filterable attribute and a sortable one': {
    change: { filterableAttributes: ['year'], sortableAttributes: ['year'] },
    costs: { filterableAttributes: 'columns', sortableAttributes: 'columns' },
  },
  'stop words': { change: { stopWords: ['the'] }, costs: { stopWords: 'documents' } },
  'fewer searchable attributes': {
    change: { searchableAttributes: ['name'] },
    costs: { searchableAttributes: { native: 'metadata', fallback: 'documents' } },
  },
  'an embedder of a provider, and one of clients': {
    change: {
      embedders: {
        made: { source: 'ollama', url: 'http://127.0.0.1:1/api/embed', model: 'm', apiKey: 'a-secret-key' },
        own: { source: 'userProvided', dimensions: 2 },
      },
    },
    costs: { embedders: 'metadata' },
    embeddings: { made: { documentsMax: 3 } },
  },
}

test('a dry run reports each changed setting with its cost, and changes nothing', async (t) => {
  const server = await startServer(t)
  const documents = [1, 2, 3].map((id) => ({ id, name: `ship ${id}`, year: 1900 + id }))
  await server.settle(t, server.post('/indexes/ships/documents', documents))
  const before = await server.get(path)
  for (const [name, { change, costs, embeddings = {} }] of Object.entries(cases)) {
    const { status, body } = await server.patch(`${path}?dryRun=true`, change)
    t.is(status, 200, name)
    t.is(body.documents, 3, name)
    const expected = Object.entries(costs).map(([setting, cost]) => [
      setting,
      typeof cost === 'string' ? cost : cost[testEngine === 'native' ? 'native' : 'fallback'],
    ])
    const told = body.changes as readonly { readonly setting: string; readonly cost: string }[]
    t.deepEqual(
      told.map(({ setting, cost }) => [setting, cost]),
      expected,
      name,
    )
    t.deepEqual(body.embeddings, embeddings as never, name)
    t.false(JSON.stringify(body).includes('a-secret-key'), name)
  }
  t.deepEqual((await server.get(path)).body, before.body)
  t.is((await server.get('/tasks')).body.total, 1)
})

test('a dry run of one setting shows it before and after', async (t) => {
  const server = await startServer(t)
  await server.settle(t, server.post('/indexes/ships/documents', [{ id: 1 }]))
  const { status, body } = await server.put(`${path}/stop-words?dryRun=true`, ['the', 'a'])
  t.is(status, 200)
  t.deepEqual(body.changes, [
    { setting: 'stopWords', before: [], after: ['a', 'the'], cost: 'documents' },
  ] as never)
})

test('a dry run for an index that does not exist costs nothing, and creates none', async (t) => {
  const server = await startServer(t)
  const { status, body } = await server.patch(`${path}?dryRun=true`, { stopWords: ['the'] })
  t.is(status, 200)
  t.like(body, { documents: 0, changes: [{ setting: 'stopWords', cost: 'metadata' }] })
  t.is((await server.get('/indexes/ships')).status, 404)
})

test('a dry run has the same refusals as the change, and refuses a value other than a boolean', async (t) => {
  const server = await startServer(t)
  t.is(
    (await server.patch(`${path}?dryRun=true`, { stopWords: 'the' })).body.code,
    'invalid_settings_stop_words',
  )
  t.is((await server.patch(`${path}?dryRun=perhaps`, {})).body.code, 'invalid_settings_dry_run')
})

test('a dry run needs the right to read settings, since it shows them', async (t) => {
  const masterKey = 'harbour-lantern-4471-xyz'
  const server = await startServer(t, { masterKey })
  await server.settle(t, server.patch(path, { stopWords: ['the'] }))
  for (const [actions, status] of [
    [['settings.update'], 403],
    [['settings.update', 'settings.get'], 200],
  ] as const) {
    const { key } = (await server.post('/keys', { actions, indexes: ['*'], expiresAt: null })).body
    const headers = { authorization: `Bearer ${key}` }
    const answer = await server.patch(`${path}?dryRun=true`, { stopWords: null }, { headers })
    t.is(answer.status, status)
    t.is(JSON.stringify(answer.body).includes('"the"'), status === 200)
    t.is((await server.patch(path, {}, { headers })).status, 202)
  }
})
