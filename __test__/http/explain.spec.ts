/**
 * Explanations of the position of a document among the hits of a search, or of its absence.
 * 1. A hit has the position, score and details of the search.
 * 2. A document outside the hits has a reason for its absence, with the data of the reason.
 * 3. Each step of the query lists its alternatives, and their positions in the document.
 * 4. Documents hidden from a tenant are not found; mistakes have the codes of a search.
 */
import { createHmac } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import type { Explanation } from '../../ts/index.js'
import { checkError } from '../support/refusals.js'
import { startServer, type TestServer } from '../support/server.js'

const documents = [
  {
    id: 1,
    title: 'The Golden Lighthouse',
    text: 'A keeper guards the coast',
    port: 'oslo',
    year: 1950,
    kind: 'film',
  },
  {
    id: 2,
    title: 'Lighthouses of the North',
    text: 'Golden evenings',
    port: 'oslo',
    year: 1960,
    kind: 'book',
  },
  { id: 3, title: 'Light House', text: 'golden', port: 'bergen', year: 1970, kind: 'film' },
  { id: 4, title: 'Beacon', text: 'A gilded tower by the sea', port: 'bergen', year: 1980, kind: 'map' },
  { id: 'e5', title: 'Notebook', text: 'nothing of the kind', port: 'oslo', year: 1990, kind: 'book' },
  { id: 6, title: 'Goldenlighthouse', text: 'written as one', port: 'tromso', year: 2000, kind: 'sign' },
]
const vectors: Readonly<Record<string, readonly number[]>> = {
  1: [1, 0],
  2: [0.9, 0.1],
  3: [0, 1],
  4: [0.5, 0.5],
}

const settings = {
  filterableAttributes: ['port', 'year', 'kind'],
  sortableAttributes: ['year'],
  searchableAttributes: ['title', 'text'],
  stopWords: ['the'],
  synonyms: { lighthouse: ['beacon', 'tower by'] },
  embedders: { by: { source: 'userProvided', dimensions: 2 } },
}

async function harbour(t: ExecutionContext, masterKey?: string): Promise<TestServer> {
  const server = await startServer(t, masterKey === undefined ? {} : { masterKey })
  const headers = { headers: masterKey === undefined ? {} : { authorization: `Bearer ${masterKey}` } }
  const all = documents.map((document) => ({ ...document, _vectors: { by: vectors[document.id] ?? null } }))
  for (const write of [
    () => server.patch('/indexes/signs/settings', settings, headers),
    () => server.post('/indexes/signs/documents?primaryKey=id', all, headers),
  ])
    t.is((await server.settle(t, write())).status, 'succeeded')
  return server
}

const explain = async (server: TestServer, body: object): Promise<Explanation> =>
  (await server.post('/indexes/signs/explain', body)).body as unknown as Explanation

const searches: Readonly<Record<string, object>> = {
  'by a word': { q: 'lighthouse' },
  'by a misspelt word': { q: 'lighthuose' },
  'by the beginning of a word': { q: 'gold' },
  'by two words': { q: 'golden lighthouse' },
  'by words of which the last may be missing': { q: 'golden coast nothingness' },
  'by all words': { q: 'golden lighthouse', matchingStrategy: 'all' },
  'by the rarer words': { q: 'golden lighthouse coast', matchingStrategy: 'frequency' },
  'by a phrase': { q: '"light house"' },
  'without a word': { q: 'golden -coast' },
  'in one attribute': { q: 'golden', attributesToSearchOn: ['text'] },
  'with a filter': { q: 'golden', filter: 'port = oslo AND (year > 1955 OR NOT kind = film)' },
  'with a sort': { q: '', sort: ['year:desc'] },
  'with a distinct attribute': { q: 'golden', distinct: 'kind' },
  'above a threshold': { q: 'golden lighthouse', rankingScoreThreshold: 0.7 },
  'by a vector': { vector: [1, 0], hybrid: { embedder: 'by', semanticRatio: 1 } },
  'by words and a vector': {
    q: 'beacon',
    vector: [0.9, 0.2],
    hybrid: { embedder: 'by', semanticRatio: 0.6 },
  },
  'of everything': { q: '' },
}

test('each hit has the position, score and details of its search, and each other document a reason', async (t) => {
  const server = await harbour(t)
  for (const [name, search] of Object.entries(searches)) {
    const shown = { ...search, showRankingScore: true, showRankingScoreDetails: true, limit: 100 }
    const { hits } = (await server.post('/indexes/signs/search', shown)).body
    for (const { id } of documents) {
      const answer = await explain(server, { ...search, id })
      const at = hits.findIndex((hit) => hit.id === id)
      t.is(answer.isHit, at !== -1, `${name}: ${id}`)
      t.is(answer.position, at === -1 ? null : at, `${name}: ${id}`)
      t.is(answer.reasons.length > 0, at === -1, `${name}: ${id}`)
      if (at === -1) continue
      t.is(answer.rankingScore, hits[at]?._rankingScore as number, `${name}: ${id}`)
      t.deepEqual(answer.rankingScoreDetails, hits[at]?._rankingScoreDetails as object, `${name}: ${id}`)
    }
  }
})

/** A document that is not a hit of a search, and the reasons. */
const misses: Readonly<Record<string, readonly [id: string | number, search: object, reasons: unknown]>> = {
  'words that it lacks': [
    4,
    { q: 'golden coast', matchingStrategy: 'all' },
    [{ kind: 'missingWords', words: ['golden', 'coast'] }],
  ],
  'a phrase that it lacks': [1, { q: '"light house"' }, [{ kind: 'missingWords', words: ['"light house"'] }]],
  'a word that the query excludes': [1, { q: 'golden -coast' }, [{ kind: 'excludedWords' }]],
  'a phrase that the query excludes': [3, { q: 'golden -"light house"' }, [{ kind: 'excludedWords' }]],
  'one condition': [
    1,
    { q: 'golden', filter: 'year > 1955' },
    [
      {
        kind: 'filter',
        clause: { filter: 'year > 1955', operator: 'condition', passes: false, clauses: [] },
      },
    ],
  ],
  'conditions within others': [
    1,
    { q: '', filter: 'port = oslo AND (year > 1955 OR NOT kind = "film")' },
    [
      {
        kind: 'filter',
        clause: {
          filter: 'port = oslo AND (year > 1955 OR NOT kind = "film")',
          operator: 'and',
          passes: false,
          clauses: [
            { filter: 'port = oslo', operator: 'condition', passes: true, clauses: [] },
            {
              filter: 'year > 1955 OR NOT kind = "film"',
              operator: 'or',
              passes: false,
              clauses: [
                { filter: 'year > 1955', operator: 'condition', passes: false, clauses: [] },
                {
                  filter: 'NOT kind = "film"',
                  operator: 'not',
                  passes: false,
                  clauses: [{ filter: 'kind = "film"', operator: 'condition', passes: true, clauses: [] }],
                },
              ],
            },
          ],
        },
      },
    ],
  ],
  'a list of conditions': [
    3,
    { filter: [['port = oslo', 'year NOT IN [1970, 1980]'], 'kind IS NOT NULL'] },
    [
      {
        kind: 'filter',
        clause: {
          filter: '(port = oslo OR year NOT IN [1970, 1980]) AND kind IS NOT NULL',
          operator: 'and',
          passes: false,
          clauses: [
            {
              filter: 'port = oslo OR year NOT IN [1970, 1980]',
              operator: 'or',
              passes: false,
              clauses: [
                { filter: 'port = oslo', operator: 'condition', passes: false, clauses: [] },
                { filter: 'year NOT IN [1970, 1980]', operator: 'condition', passes: false, clauses: [] },
              ],
            },
            { filter: 'kind IS NOT NULL', operator: 'condition', passes: true, clauses: [] },
          ],
        },
      },
    ],
  ],
  'a value that a better hit has': [
    3,
    { q: 'golden', distinct: 'kind', sort: [] },
    [{ kind: 'distinct', attribute: 'kind', id: '1' }],
  ],
}

test('a document that is not a hit has a reason', async (t) => {
  const server = await harbour(t)
  for (const [name, [id, search, reasons]] of Object.entries(misses)) {
    const answer = await explain(server, { ...search, id })
    t.deepEqual(answer.reasons as unknown, reasons, name)
    t.is(answer.isHit, false, name)
  }
  const search = { q: 'golden lighthouse', rankingScoreThreshold: 0.99 }
  const { reasons, rankingScore } = await explain(server, { ...search, id: 3 })
  t.deepEqual(reasons as unknown, [{ kind: 'rankingScoreThreshold', score: rankingScore, threshold: 0.99 }])
  await server.settle(t, server.patch('/indexes/signs/settings', { pagination: { maxTotalHits: 2 } }))
  const far = await explain(server, { q: '', id: 4 })
  t.deepEqual(far.reasons as unknown, [{ kind: 'tooFarDown', hitsLookedAt: 2, maxTotalHits: 2 }])
  t.is(far.rankingScore, 1)
})

/** The alternatives for the first step of a query: text, and positions in the document. */
const steps: readonly (readonly [q: string, id: number, spellings: readonly unknown[]])[] = [
  [
    'lighthouse ',
    1,
    [
      {
        kind: 'exact',
        text: 'lighthouse',
        typos: 0,
        documents: 1,
        places: [{ attribute: 'title', position: 2 }],
      },
    ],
  ],
  [
    'lightouse ',
    1,
    [
      {
        kind: 'typo',
        text: 'lighthouse',
        typos: 1,
        documents: 1,
        places: [{ attribute: 'title', position: 2 }],
      },
    ],
  ],
  [
    'lighthuose',
    1,
    [
      {
        kind: 'typo',
        text: 'lighthouse',
        typos: 1,
        documents: 1,
        places: [{ attribute: 'title', position: 2 }],
      },
    ],
  ],
  [
    'lighthou',
    2,
    [
      {
        kind: 'prefix',
        text: 'lighthouses',
        typos: 0,
        documents: 1,
        places: [{ attribute: 'title', position: 0 }],
      },
    ],
  ],
  [
    'lighthouse ',
    3,
    [
      {
        kind: 'split',
        text: 'light house',
        typos: 1,
        documents: 1,
        places: [{ attribute: 'title', position: 0 }],
      },
    ],
  ],
  [
    'lighthouse ',
    4,
    [
      {
        kind: 'synonym',
        text: 'beacon',
        typos: 0,
        documents: 1,
        places: [{ attribute: 'title', position: 0 }],
      },
      {
        kind: 'synonym',
        text: 'tower by',
        typos: 0,
        documents: 1,
        places: [{ attribute: 'text', position: 2 }],
      },
    ],
  ],
  ['"golden … " "light house"', 3, []],
]

test('a step of the query lists its alternatives and their positions in the document', async (t) => {
  const server = await harbour(t)
  for (const [q, id, spellings] of steps) {
    const { query } = await explain(server, { q, id })
    const here = query.steps[0]?.spellings.filter(({ places }) => places.length > 0)
    if (spellings.length > 0) t.deepEqual(here as unknown, spellings, q)
    else t.is(query.steps.length, 2, q)
  }
  const { query } = await explain(server, { q: 'the golden lighthouse', id: 6 })
  t.deepEqual(query.ignoredWords, ['the'])
  t.deepEqual(query.missingWords, [])
  const joined = query.steps.find(({ parts }) => parts !== null)
  t.deepEqual(joined?.parts, ['golden', 'lighthouse'])
  t.deepEqual(joined?.spellings[0] as unknown, {
    kind: 'exact',
    text: 'goldenlighthouse',
    typos: 1,
    documents: 1,
    places: [{ attribute: 'title', position: 0 }],
  })
})

test('a document pinned by a rule is reported as found by the rule', async (t) => {
  const server = await harbour(t)
  await server.patch('/experimental-features', { dynamicSearchRules: true })
  const pin = { id: 4, position: 1 }
  await server.settle(t, server.patch('/dynamic-search-rules/front', { actions: { pin: [pin] } }))
  const { isHit, position, foundBy } = await explain(server, { q: 'golden', id: 4 })
  t.deepEqual([isHit, position, foundBy], [true, 1, 'rule'])
})

test('the languages of a query come from the search, else from the searched attributes', async (t) => {
  const server = await harbour(t)
  const languages = async (search: object): Promise<readonly string[]> =>
    (await explain(server, { q: 'golden', id: 1, ...search })).query.languages
  t.deepEqual(await languages({}), [])
  t.deepEqual(await languages({ locales: ['ja', 'eng'] }), ['eng', 'jpn'])
  const localizedAttributes = [
    { attributePatterns: ['title'], locales: ['jpn', 'zho'] },
    { attributePatterns: ['text'], locales: ['eng'] },
  ]
  await server.settle(t, server.patch('/indexes/signs/settings', { localizedAttributes }))
  t.deepEqual(await languages({}), ['eng', 'jpn', 'zho'])
  t.deepEqual(await languages({ attributesToSearchOn: ['text'] }), ['eng'])
})

test('an attribute that is not displayed does not appear', async (t) => {
  const server = await harbour(t)
  await server.settle(t, server.patch('/indexes/signs/settings', { displayedAttributes: ['id', 'title'] }))
  const { query } = await explain(server, { q: 'golden ', id: 2, sort: ['year:asc'] })
  t.deepEqual(query.steps[0]?.spellings[0]?.places as unknown, [{ attribute: '<hidden>', position: 0 }])
  t.deepEqual(
    (await explain(server, { q: 'golden ', id: 1 })).query.steps[0]?.spellings[0]?.places as unknown,
    [{ attribute: 'title', position: 1 }],
  )
})

const mistakes: readonly (readonly [status: number, code: string, body: object])[] = [
  [404, 'document_not_found', { q: '', id: 99 }],
  [400, 'invalid_document_id', { q: '', id: {} }],
  [400, 'invalid_document_id', { q: '', id: 'ü' }],
  [400, 'bad_request', { q: '' }],
  [400, 'bad_request', { id: 1, what: 1 }],
  [400, 'invalid_search_q', { q: 1, id: 1 }],
  [400, 'invalid_search_filter', { filter: 'year >', id: 1 }],
  [400, 'invalid_search_filter', { filter: 'title = a', id: 1 }],
  [400, 'invalid_search_sort', { sort: ['title:asc'], id: 1 }],
  [400, 'invalid_search_distinct', { distinct: 'title', id: 1 }],
  [400, 'invalid_search_embedder', { vector: [1, 0], hybrid: { embedder: 'none' }, id: 1 }],
]

test('a mistake in the explained search has the code of a search', async (t) => {
  const server = await harbour(t)
  for (const [status, code, body] of mistakes)
    checkError(t, await server.post('/indexes/signs/explain', body), status, code)
  checkError(t, await server.post('/indexes/none/explain', { id: 1 }), 404, 'index_not_found')
})

test('a document that the token of a tenant hides is not found, and its filter does not appear', async (t) => {
  const masterKey = 'harbour-lantern-4471-xyz'
  const server = await harbour(t, masterKey)
  const master = { headers: { authorization: `Bearer ${masterKey}` } }
  const { body } = await server.post(
    '/keys',
    { actions: ['search'], indexes: ['*'], expiresAt: null },
    master,
  )
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { apiKeyUid: body.uid, searchRules: { signs: { filter: 'port = oslo' } } }
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  const token = `${text}.${createHmac('sha256', body.key).update(text).digest('base64url')}`
  const tenant = { headers: { authorization: `Bearer ${token}` } }
  const ask = (one: object) => server.post('/indexes/signs/explain', one, tenant)
  const seen = await ask({ q: 'golden', id: 1 })
  t.is(seen.body.isHit, true, JSON.stringify(seen.body))
  checkError(t, await ask({ q: 'golden', id: 3 }), 404, 'document_not_found')
  const { reasons } = (await ask({ q: 'golden', id: 1, filter: 'year > 1955' }))
    .body as unknown as Explanation
  t.deepEqual(reasons as unknown, [
    {
      kind: 'filter',
      clause: { filter: 'year > 1955', operator: 'condition', passes: false, clauses: [] },
    },
  ])
})
