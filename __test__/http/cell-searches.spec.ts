import test, { type ExecutionContext } from 'ava'
import { type CellWorld, masterKey, startCells } from '../support/cells.js'
import { checkError } from '../support/refusals.js'
import type { TestAnswer, TestRequest } from '../support/server.js'

// A multi-search over the indexes of two cells has the answer of one instance that has all of them.

const settings = {
  filterableAttributes: ['genre', 'year', 'owner'],
  sortableAttributes: ['year', 'secret'],
  displayedAttributes: ['id', 'title', 'genre', 'year', 'owner'],
}
const word = (at: number, words: readonly string[]): string => words[at % words.length] ?? ''
const documents = (first: number) =>
  Array.from({ length: 30 }, (_, at) => ({
    id: first + at,
    title: `${word(at, ['the sea', 'a sea of stars', 'stars', 'the starry sea', 'seas'])} ${word(at, ['one', 'two', 'three'])}`,
    genre: word(at * 7 + first, ['drama', 'comedy', 'crime', 'poetry']),
    year: 1950 + ((at * 13 + first) % 40),
    owner: word(at, ['ann', 'bob']),
    secret: (at * 17 + first) % 30,
  }))

/** Fills indexes of both cells and of the instance that has all. */
async function filled(t: ExecutionContext): Promise<CellWorld> {
  const world = await startCells(t)
  for (const server of [world.a, world.one])
    for (const [at, uid] of ['films', 'books', 'songs', 'boats'].entries()) {
      await server.settle(t, server.patch(`/indexes/${uid}/settings`, settings))
      await server.settle(t, server.post(`/indexes/${uid}/documents`, documents(at * 100)))
    }
  return world
}

/** The body without times and random ids. */
const content = ({ status, bytes }: TestAnswer): string =>
  `${status} ${bytes
    .toString()
    .replace(/"processingTimeMs":\d+/g, '"processingTimeMs":0')
    .replace(/"(requestUid|queryUid)":"[^"]+"/g, '"$1":""')}`

const several = ['films', 'books', 'songs', 'boats']
const queries = (more: object = {}) => several.map((indexUid) => ({ indexUid, q: 'sea', ...more }))
const metadata: TestRequest = { headers: { 'meili-include-metadata': 'true' } }

const same: readonly (readonly [string, object, TestRequest?])[] = [
  ['separate', { queries: queries() }],
  ['separate with metadata', { queries: queries({ showRankingScore: true, facets: ['genre'] }) }, metadata],
  ['separate, of another cell only', { queries: [{ indexUid: 'books', q: 'stars', limit: 3 }] }],
  ['separate and paged', { queries: queries({ hitsPerPage: 4, page: 2, filter: 'year > 1960' }) }],
  ['merged', { federation: {}, queries: queries() }],
  ['merged, of another cell only', { federation: {}, queries: [{ indexUid: 'boats', q: 'sea' }] }],
  ['merged and sorted', { federation: { limit: 50 }, queries: queries({ sort: ['year:desc'] }) }],
  [
    'merged and sorted by what is hidden',
    { federation: {}, queries: queries({ q: '', sort: ['secret:asc'] }) },
  ],
  [
    'merged with weights',
    {
      federation: {},
      queries: several.map((indexUid, at) => ({
        indexUid,
        q: 'star',
        federationOptions: { weight: 1 + at / 4 },
      })),
    },
  ],
  ['merged, a later page', { federation: { offset: 35, limit: 10 }, queries: queries() }],
  ['merged, pages', { federation: { page: 3, hitsPerPage: 7 }, queries: queries() }],
  ['merged, no hits', { federation: { limit: 0 }, queries: queries() }],
  ['merged and distinct', { federation: { distinct: 'genre', limit: 50 }, queries: queries() }],
  [
    'merged with facets',
    { federation: { facetsByIndex: { films: ['genre'], books: ['genre', 'year'] } }, queries: queries() },
  ],
  [
    'merged with merged facets',
    {
      federation: { facetsByIndex: { films: ['genre'], books: ['genre', 'year'] }, mergeFacets: {} },
      queries: queries(),
    },
  ],
  ['merged with metadata', { federation: {}, queries: queries({ showRankingScoreDetails: true }) }, metadata],
  [
    'merged with highlights',
    { federation: {}, queries: queries({ attributesToHighlight: ['*'], filter: ['genre = drama'] }) },
  ],
  ['an unknown index here', { queries: [...queries(), { indexUid: 'nothing', q: '' }] }],
  [
    'a mistake for another cell',
    { queries: [...queries(), { indexUid: 'boats', q: '', filter: 'title = x' }] },
  ],
  [
    'two mistakes',
    {
      queries: [
        { indexUid: 'boats', filter: 'title = x' },
        { indexUid: 'films', sort: ['title:asc'] },
      ],
    },
  ],
  [
    'a mistake in a merged search',
    { federation: {}, queries: [{ indexUid: 'films' }, { indexUid: 'boats', filter: 'title = x' }] },
  ],
  ['a page of a query', { federation: {}, queries: queries({ limit: 3 }) }],
]

test('answers are those of one instance', async (t) => {
  const { a, b, one } = await filled(t)
  for (const [name, body, request] of same) {
    const expected = content(await one.post('/multi-search', body, request))
    for (const [through, server] of Object.entries({ a, b })) {
      const found = content(await server.post('/multi-search', body, request))
      const at = [...expected].findIndex((char, i) => char !== found[i])
      const shown = (text: string): string => text.slice(Math.max(0, at - 80), at + 120)
      t.is(
        found === expected ? '' : shown(found),
        found === expected ? '' : shown(expected),
        `${name}, through ${through}`,
      )
    }
  }
})

test('an index that is in no cell is an error with its position', async (t) => {
  const { a, b, one, place } = await filled(t)
  place((placement) => ({ ...placement, version: 2, indexes: { ...placement.indexes, missing: 'b' } }))
  for (const federation of [undefined, {}]) {
    const body = { federation, queries: [...queries(), { indexUid: 'missing', q: '' }] }
    const expected = content(await one.post('/multi-search', body))
    for (const server of [a, b]) t.is(content(await server.post('/multi-search', body)), expected)
  }
})

test('keys restrict the searches of other cells', async (t) => {
  const { a, b, one } = await filled(t)
  const uid = 'a5f27a4c-6a0b-4f7d-8d7e-6f1c3f9f0a11'
  const key = { uid, actions: ['search'], indexes: ['films', 'boats'], expiresAt: null }
  const made = await Promise.all([a, one].map((server) => server.post('/keys', key)))
  const headers = { authorization: `Bearer ${made[0]?.body.key}` }
  for (const federation of [undefined, {}])
    for (const uids of [
      ['films', 'boats'],
      ['films', 'books'],
    ]) {
      const body = {
        federation,
        queries: uids.map((indexUid) => ({ indexUid, q: 'sea', sort: ['secret:asc'] })),
      }
      const expected = content(await one.post('/multi-search', body, { headers }))
      for (const server of [a, b])
        t.is(content(await server.post('/multi-search', body, { headers })), expected)
    }
})

test('only another cell gets the values that hidden fields are sorted by', async (t) => {
  const { b } = await filled(t)
  const key = { actions: ['search'], indexes: ['*'], expiresAt: null }
  const made = await b.post('/keys', key)
  const body = { federation: {}, queries: [{ indexUid: 'books', sort: ['secret:asc'] }] }
  for (const proof of [{}, { 'x-siftd-cell-proof': 'forged' }, { 'x-siftd-cell-proof': masterKey }]) {
    const headers = { 'meili-proxy-search': 'true', 'x-siftd-cell': '1', ...proof }
    const asked = await b.post('/multi-search', body, {
      headers: { ...headers, authorization: `Bearer ${made.body.key}` },
    })
    t.is(asked.status, 200)
    t.notRegex(asked.bytes.toString(), /weightedScoreValues/)
  }
})

test('a search that needs a cell that is away fails, and others work', async (t) => {
  const { a, b } = await filled(t)
  await b.stop()
  for (const federation of [undefined, {}]) {
    const answer = await a.post('/multi-search', { federation, queries: queries() })
    checkError(t, answer, 503, 'bucket_unavailable')
    t.regex(answer.body.message, /the cell `b` cannot be reached; retry/)
    const own = { federation, queries: [{ indexUid: 'films', q: 'sea' }] }
    t.is((await a.post('/multi-search', own)).status, 200)
  }
})

test('a search with an old placement is refused, and the placement is read again', async (t) => {
  const { a, b } = await filled(t)
  const newer = { ...a.known.current, version: 2, indexes: {} }
  b.known.current = newer
  a.known.next = newer
  for (const federation of [undefined, {}]) {
    a.known.current = { ...newer, version: 1, indexes: { books: 'b' } }
    const asked = () => a.post('/multi-search', { federation, queries: [{ indexUid: 'books' }] })
    checkError(t, await asked(), 503, 'follower_behind')
    checkError(t, await asked(), 400, 'index_not_found')
  }
  t.is(a.known.refreshes, 2)
})

test('the hits of other cells are not reordered by this one', async (t) => {
  const { a } = await filled(t)
  const body = { federation: { rerank: {} }, queries: queries() }
  const answer = await a.post('/multi-search', body)
  t.is(answer.status, 400)
})
