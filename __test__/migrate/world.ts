/** Instances for migrations: a source with all kinds of data, and targets of both engines. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { tempDir } from '../backup/archives.js'
import { startDaemon } from '../support/daemon.js'
import { startProvider, type TestProvider, vectorOf } from '../support/provider.js'
import { startServer, type TestBody, type TestServer } from '../support/server.js'

export const masterKey = 'harbour-lantern-4471-xyz'
export const FILMS = 3_000
const keyUid = '6f1d2a34-9b0c-4e57-8a11-3c5d7e9f0b24'
/** Secrets that no output may show. */
export const embedderSecret = 'provider-secret-of-thirty-characters'
export const hookSecret = 'Bearer hook-secret-of-thirty-characters'

const samples = readFileSync(new URL('../../../samples/films.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)

/** Repeated samples with different numbers in the titles. */
const films = Array.from({ length: FILMS }, (_, at) => {
  const sample = samples[at % samples.length]
  return JSON.stringify({ ...sample, id: at, title: `${sample?.title} ${at % 97}` })
})
// Numbers that JavaScript would round or write without a decimal point.
films.push('{"id":9007199254740993,"title":"Big","exact":12345678901234567890,"float":1.0}')

const filmSettings = {
  filterableAttributes: [
    'genres',
    'year',
    { attributePatterns: ['meta.*'], features: { facetSearch: false } },
  ],
  sortableAttributes: ['year', 'rating'],
  searchableAttributes: ['title', 'overview', 'genres'],
  displayedAttributes: ['id', 'title', 'year', 'genres'],
  synonyms: { lighthouse: ['beacon'], film: ['movie', 'picture'] },
  stopWords: ['the', 'of'],
  rankingRules: ['words', 'typo', 'proximity', 'attribute', 'sort', 'exactness', 'year:desc'],
  typoTolerance: { minWordSizeForTypos: { oneTypo: 4, twoTypos: 8 }, disableOnWords: ['orbit'] },
  faceting: { maxValuesPerFacet: 20, sortFacetValuesBy: { genres: 'count' } },
  pagination: { maxTotalHits: 500 },
  searchCutoffMs: 700,
}

/** Rules that change answers of the searches below, and an inactive rule. */
const rules = {
  beacons: {
    description: 'keepers first',
    precedence: 2,
    conditions: { query: { words: 'beacon' } },
    actions: { pin: [{ id: '7', position: 1, indexUid: 'films' }] },
  },
  everywhere: {
    conditions: { time: { start: '2020-01-01T00:00:00Z' }, filter: { values: { genres: 'nothing' } } },
    actions: { pin: [{ id: '3', position: 0 }] },
  },
  off: { active: false },
}

export interface Source {
  readonly server: TestServer
  readonly provider: TestProvider
}

/** A source with three indexes, three rules, a key, two webhooks, a remote and features. */
export async function startSource(t: ExecutionContext): Promise<Source> {
  const provider = await startProvider(t, ({ body }) => ({
    data: (body as { input: readonly unknown[] }).input.map((text) => ({ embedding: vectorOf(text) })),
  }))
  const server = await startServer(t, { masterKey, allowedNetworks: ['127.0.0.0/8'] })
  await server.patch('/experimental-features', {
    containsFilter: true,
    dynamicSearchRules: true,
    network: true,
  })
  await server.patch('/network', { remotes: { east: { url: 'https://east.example.org' } } })
  const ndjson = { headers: { 'content-type': 'application/x-ndjson' } }
  await server.settle(t, server.patch('/indexes/films/settings', filmSettings))
  await server.settle(t, server.post('/indexes/films/documents?primaryKey=id', films.join('\n'), ndjson))
  await fillPlaces(t, server)
  await fillTexts(t, server, provider)
  for (const [uid, rule] of Object.entries(rules))
    await server.settle(t, server.patch(`/dynamic-search-rules/${uid}`, rule))
  await server.post('/keys', {
    uid: keyUid,
    name: 'films only',
    actions: ['search'],
    indexes: ['films'],
    expiresAt: '2090-05-06T07:08:09Z',
  })
  await server.post('/webhooks', { url: 'https://hooks.example.org/path', headers: { 'x-team': 'films' } })
  await server.post('/webhooks', {
    url: 'https://masked.example.org/',
    headers: { authorization: hookSecret, 'x-team': 'films' },
  })
  return { server, provider }
}

/** User-provided vectors: one, several, none, and some that may be regenerated. */
async function fillPlaces(t: ExecutionContext, server: TestServer): Promise<void> {
  const embedders = { own: { source: 'userProvided', dimensions: 3 } }
  await server.settle(t, server.patch('/indexes/places/settings', { embedders }))
  const vectors = (at: number): unknown => {
    const row = [at % 7, at % 11, 1]
    if (at % 10 === 0) return null
    if (at % 10 === 1) return [row, [0.1, 0.2, 0.3]]
    return at % 10 === 2 ? { regenerate: true, embeddings: row } : row
  }
  const places = Array.from({ length: 250 }, (_, at) => ({
    code: `p${at}`,
    name: `place ${at}`,
    _vectors: { own: vectors(at) },
  }))
  await server.settle(t, server.post('/indexes/places/documents?primaryKey=code', places))
}

/** Vectors of a provider that needs a key and determines the number of dimensions. */
async function fillTexts(t: ExecutionContext, server: TestServer, { url }: TestProvider): Promise<void> {
  const embedder = {
    source: 'rest',
    url,
    apiKey: embedderSecret,
    documentTemplate: '{{doc.text}}',
    request: { input: ['{{text}}', '{{..}}'] },
    response: { data: [{ embedding: '{{embedding}}' }, '{{..}}'] },
  }
  await server.settle(t, server.patch('/indexes/texts/settings', { embedders: { made: embedder } }))
  const texts = Array.from({ length: 40 }, (_, at) => ({ id: at, text: `${'abcdefgh'[at % 8]} text ${at}` }))
  await server.settle(t, server.post('/indexes/texts/documents?primaryKey=id', texts))
}

export interface Target {
  readonly url: string
  readonly directory: string
  call(method: string, path: string, body?: unknown): Promise<TestBody>
  /** Sends a write and waits until it has succeeded. */
  settle(t: ExecutionContext, method: string, path: string, body: unknown): Promise<void>
}

/** An empty instance in a process of its own. */
export async function startTarget(
  t: ExecutionContext,
  engine: string,
  key: string | null = masterKey,
): Promise<Target> {
  const directory = await tempDir(t)
  const args = ['--engine', engine, ...(key === null ? [] : ['--master-key', key])]
  const { port } = await startDaemon(t, join(directory, 'data.ms'), args)
  const url = `http://127.0.0.1:${port}`
  const call: Target['call'] = async (method, path, body) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return (await answer.json()) as TestBody
  }
  return {
    url,
    directory,
    call,
    async settle(t, method, path, body) {
      const { taskUid } = await call(method, path, body)
      for (;;) {
        const task = await call('GET', `/tasks/${taskUid}`)
        if (!['enqueued', 'processing'].includes(task.status))
          return void t.is(task.status, 'succeeded', JSON.stringify(task))
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    },
  }
}

/** The arguments of a migration between two protected instances. */
export const migration = (from: string, to: Target): readonly string[] => [
  ...['migrate', '--from', from, '--from-key', masterKey, '--to', to.url, '--to-key', masterKey],
  ...['--state', join(to.directory, 'state.json')],
]
