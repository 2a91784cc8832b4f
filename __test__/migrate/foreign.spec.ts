/** Indexes of Typesense and Algolia, copied into a server. */
import test, { type ExecutionContext } from 'ava'
import { openOutbound } from '../../ts/outbound/index.js'
import { DocumentConverter, documentId } from '../../ts/transfer/foreign/documents.js'
import { momentOf, ruleUid } from '../../ts/transfer/foreign/foreign.js'
import {
  copyForeign,
  describeForeign,
  type Foreign,
  openTypesense,
  readAlgolia,
} from '../../ts/transfer/foreign/index.js'
import { openPeer } from '../../ts/transfer/index.js'
import { startServer, type TestServer } from '../support/server.js'
import { startTypesense, TYPESENSE_KEY } from '../support/typesense.js'

const MASTER_KEY = 'a-key-of-at-least-16-bytes'

/** @param differences expected at the end */
async function copied(
  t: ExecutionContext,
  foreign: (outbound: ReturnType<typeof openOutbound>) => Promise<Foreign>,
  differences: readonly (string | RegExp)[] = [],
): Promise<{ readonly server: TestServer; readonly lines: readonly string[] }> {
  const server = await startServer(t, { masterKey: MASTER_KEY })
  const outbound = openOutbound({ allowedNetworks: 'any' })
  t.teardown(() => outbound.close())
  const lines: string[] = []
  const output = { line: (text: string) => void lines.push(text), progress: () => undefined }
  const peer = openPeer(outbound, { flag: 'to', url: server.url, key: MASTER_KEY })
  const found = await foreign(outbound)
  const remaining = await copyForeign(peer, found, output)
  t.is(remaining.length, differences.length, remaining.join('\n'))
  for (const [at, wanted] of differences.entries())
    if (typeof wanted === 'string') t.is(remaining[at], wanted)
    else t.regex(remaining[at] ?? '', wanted)
  return { server, lines }
}

const asAdmin = { headers: { authorization: `Bearer ${MASTER_KEY}` } }
const lost = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) => line.startsWith('not carried over: ')).map((line) => line.slice(18))

const films = {
  name: 'films',
  default_sorting_field: 'rating',
  token_separators: ['-'],
  symbols_to_index: ['+'],
  fields: [
    { name: 'title', type: 'string', facet: false, index: true, infix: true, locale: 'ja' },
    { name: 'genres', type: 'string[]', facet: true, index: true },
    { name: 'rating', type: 'float', facet: false, index: true, sort: true },
    { name: 'isNew', type: 'bool', facet: false, index: true, sort: true },
    { name: 'note', type: 'string', facet: false, index: false, optional: true },
    { name: 'place', type: 'geopoint', facet: false, index: true },
    { name: 'meaning', type: 'float[]', num_dim: 2, index: true, facet: false, embed: { from: ['title'] } },
  ],
}

const filmDocuments = [
  {
    id: '1',
    title: 'Solaris',
    genres: ['drama'],
    rating: 8.1,
    isNew: false,
    place: [55.7, 37.6],
    meaning: [1, 0],
  },
  { id: 'a/b', title: 'The Ship', genres: ['sea'], rating: 7, isNew: true, note: 'x', meaning: [0, 1] },
]

test('Typesense: schema, documents, synonyms and overrides become an index with rules', async (t) => {
  const url = await startTypesense(
    t,
    [
      {
        schema: films,
        documents: filmDocuments,
        synonyms: [
          { id: 's1', synonyms: ['ship', 'boat', 'vessel'] },
          { id: 's2', root: 'movie', synonyms: ['film'] },
          { id: 's3', root: '__proto__', synonyms: ['film'] },
        ],
        overrides: [
          {
            id: 'pin ships',
            rule: { query: 'sea', match: 'exact' },
            includes: [{ id: 'a/b', position: 1 }],
            excludes: [{ id: '1' }],
            filter_by: 'rating:>5',
            effective_to_ts: 4102444800,
          },
          { id: 'brand', rule: { query: '{brand} phone', match: 'contains' }, filter_by: 'brand:={brand}' },
          { id: 'tagged', rule: { tags: ['home'] }, includes: [{ id: '1', position: 1 }] },
        ],
      },
      { schema: { name: 'empty.v2', fields: [{ name: '.*', type: 'auto' }] }, documents: [] },
    ],
    {
      '/aliases': { aliases: [{ name: 'current', collection_name: 'films' }] },
      '/stopwords': { stopwords: [] },
    },
  )
  const { server, lines } = await copied(t, (outbound) =>
    openTypesense(outbound, { url, key: TYPESENSE_KEY }, null),
  )

  const settings = (await server.get('/indexes/films/settings', asAdmin)).body
  t.like(settings, {
    searchableAttributes: ['title', 'genres'],
    filterableAttributes: ['genres', 'rating', 'isNew', '_geo'],
    sortableAttributes: ['_geo', 'isNew', 'rating'],
    separatorTokens: ['-'],
    nonSeparatorTokens: ['+'],
    synonyms: {
      ship: ['boat', 'vessel'],
      boat: ['ship', 'vessel'],
      vessel: ['ship', 'boat'],
      movie: ['film'],
    },
    localizedAttributes: [{ attributePatterns: ['title'], locales: ['jpn'] }],
    embedders: { meaning: { source: 'userProvided', dimensions: 2 } },
  })
  t.is((settings.rankingRules as string[]).at(-1), 'rating:desc')
  const search = async (body: object) =>
    (
      (await server.post('/indexes/films/search', body, asAdmin)).body as unknown as {
        hits: { id: string }[]
      }
    ).hits
  t.deepEqual(await search({ q: 'boat' }), [
    {
      id: documentId('a/b'),
      title: 'The Ship',
      genres: ['sea'],
      rating: 7,
      isNew: true,
      note: 'x',
      original_id: 'a/b',
    },
  ])
  t.deepEqual(
    (await search({ filter: '_geoRadius(55.7, 37.6, 1000)' })).map(({ id }) => id),
    ['1'],
  )
  const near = await search({ vector: [0.9, 0.1], hybrid: { embedder: 'meaning', semanticRatio: 1 } })
  t.deepEqual(
    near.map(({ id }) => id),
    ['1', documentId('a/b')],
  )
  t.deepEqual(
    (await search({ q: 'sea' })).map(({ id }) => id),
    [documentId('a/b')],
  )
  const rule = (await server.get(`/dynamic-search-rules/${ruleUid('films', 'pin ships')}`, asAdmin)).body
  t.like(rule, {
    conditions: { query: { words: 'sea' }, time: { end: '2100-01-01T00:00:00.000Z' } },
    actions: {
      pin: [{ id: documentId('a/b'), position: 0, indexUid: 'films' }],
      scale: [{ weight: 0, ids: ['1'], indexUid: 'films' }],
    },
  })
  t.deepEqual(
    (await server.get('/indexes/empty_v2/settings/searchable-attributes', asAdmin)).body as unknown,
    ['*'],
  )

  const found = lost(lines).join('\n')
  for (const one of [
    '`films`: filters on `title`: text fields without `facet`',
    '`films`: the name of `place`',
    '`films`: the option `infix` of `title`',
    '`films`: the option `embed` of `meaning`: the vectors are copied',
    '`films`: `filter_by` of the override `pin ships`',
    '`films`: the exact match of the override `pin ships`',
    '`films`: override `brand`: its query names a field',
    '`films`: override `tagged`: searches here have no tags',
    '`films`: the ids of 1 document: they have characters that ids here cannot have',
    '`empty_v2`: rules for field names, `.*`',
    '`empty_v2`: its name `empty.v2`, which an index cannot have',
    '`current`: aliases',
    'API keys',
  ])
    t.true(found.includes(one), `${one}\n${found}`)
})

test('Typesense 30: sets of synonyms and curations; a wrong key and an unknown collection are named', async (t) => {
  const url = await startTypesense(
    t,
    [
      {
        schema: {
          name: 'films',
          fields: [{ name: 'title', type: 'string' }],
          synonym_sets: ['sea'],
          curation_sets: ['front'],
        },
        documents: [{ id: '1', title: 'The Ship' }],
      },
    ],
    {
      '/synonym_sets': [
        { name: 'sea', items: [{ id: 'one', root: 'boat', synonyms: ['ship'] }] },
        { name: 'other', items: [{ id: 'two', synonyms: ['a', 'b'] }] },
      ],
      '/curation_sets': [
        {
          name: 'front',
          items: [{ id: 'all', rule: { query: '*', match: 'exact' }, includes: [{ id: '1', position: 3 }] }],
        },
      ],
    },
  )
  const outbound = openOutbound({ allowedNetworks: 'any' })
  t.teardown(() => outbound.close())
  const { indexes } = await openTypesense(outbound, { url, key: TYPESENSE_KEY }, ['films'])
  t.like(indexes[0]?.settings, { synonyms: { boat: ['ship'] } })
  t.like(indexes[0]?.rules[0]?.body, {
    conditions: { query: { isEmpty: true } },
    actions: { pin: [{ id: '1', position: 2, indexUid: 'films' }] },
  })
  const lines: string[] = []
  describeForeign(
    { indexes, leftOut: [] },
    { line: (text) => void lines.push(text), progress: () => undefined },
  )
  t.is(lines[0], 'would copy index `films`: 1 document, 1 rule')
  await t.throwsAsync(openTypesense(outbound, { url, key: 'wrong' }, null), {
    message: /give an admin key by --from-key/,
  })
  await t.throwsAsync(openTypesense(outbound, { url, key: TYPESENSE_KEY }, ['ghosts']), {
    message: /no collection `ghosts`; it has `films`/,
  })
})

test('Typesense: a collection that sends fewer documents than it counts is a difference', async (t) => {
  const schema = { name: 'films', num_documents: 3, fields: [{ name: 'title', type: 'string' }] }
  const url = await startTypesense(t, [{ schema, documents: [{ id: '1', title: 'The Ship' }] }])
  const { lines } = await copied(
    t,
    (outbound) => openTypesense(outbound, { url, key: TYPESENSE_KEY }, null),
    ['index `films`: the source counted 3 documents and sent 1: start again'],
  )
  t.true(lines.includes('index `films`: 1 document copied'))
})

test('Typesense: a rule that the target refuses is a difference, and the others are copied', async (t) => {
  const override = (id: string, query: string) => ({
    id,
    rule: { query, match: 'contains' },
    includes: [{ id: '1', position: 1 }],
  })
  const url = await startTypesense(
    t,
    ['boats', 'films'].map((name) => ({
      schema: { name, fields: [{ name: 'title', type: 'string' }] },
      documents: [{ id: '1', title: 'The Ship' }],
      overrides: [override('long', 'word '.repeat(1_000)), override('short', 'word')],
    })),
  )
  const refused = (uid: string): RegExp =>
    new RegExp(`^index \`${uid}\`: rule \`${uid}-long\` is not copied: .*the words have 5000 characters`)
  const { server, lines } = await copied(
    t,
    (outbound) => openTypesense(outbound, { url, key: TYPESENSE_KEY }, null),
    [refused('boats'), refused('films')],
  )
  for (const uid of ['boats', 'films']) {
    t.true(lines.includes(`index \`${uid}\`: 1 rule written`), lines.join('\n'))
    t.is((await server.get(`/dynamic-search-rules/${uid}-short`, asAdmin)).status, 200)
  }
})

const records = [
  {
    objectID: 'https://a.b/1',
    name: 'Lamp',
    brand: 'Acme',
    price: 20,
    _geoloc: { lat: 1, lng: 2 },
    _highlightResult: {},
  },
  {
    objectID: '2',
    name: 'Desk',
    brand: 'Acme',
    price: 90,
    _geoloc: [
      { lat: 1, lng: 2 },
      { lat: 3, lng: 4 },
    ],
  },
  { objectID: '3', name: 'Lantern', brand: 'Bee', price: 5 },
]

test('Algolia: records, settings, synonyms and rules become an index with rules', async (t) => {
  const { server, lines } = await copied(t, async () =>
    readAlgolia({
      uid: 'products',
      async *records() {
        for (const one of records) yield Buffer.from(JSON.stringify(one))
      },
      settings: {
        searchableAttributes: ['name,brand', 'unordered(description)'],
        attributesForFaceting: ['searchable(brand)', 'filterOnly(price)'],
        customRanking: ['desc(price)'],
        ranking: [
          'asc(brand)',
          'typo',
          'geo',
          'words',
          'filters',
          'proximity',
          'attribute',
          'exact',
          'custom',
        ],
        minWordSizefor1Typo: 3,
        allowTyposOnNumericTokens: false,
        maxValuesPerFacet: 50,
        paginationLimitedTo: 200,
        separatorsToIndex: '+#',
        ignorePlurals: ['en'],
        replicas: ['products_price_asc'],
        hitsPerPage: 20,
        attributesToSnippet: null,
      },
      synonyms: [
        { objectID: 's1', type: 'synonym', synonyms: ['lamp', 'light'] },
        { objectID: 's2', type: 'oneWaySynonym', input: 'table', synonyms: ['desk'] },
        { objectID: 's3', type: 'placeholder', placeholder: '<n>', replacements: ['1'] },
      ],
      rules: [
        {
          objectID: 'pin',
          conditions: [
            { pattern: 'light', anchoring: 'contains' },
            { pattern: '', anchoring: 'is' },
            { context: 'mobile' },
          ],
          consequence: {
            promote: [{ objectIDs: ['3', '2'], position: 0 }],
            params: { filters: 'price > 3' },
          },
          enabled: true,
        },
        {
          objectID: 'hide',
          condition: { pattern: 'desk', anchoring: 'is' },
          consequence: { hide: [{ objectID: '2' }] },
          enabled: false,
        },
      ],
    }),
  )
  t.like((await server.get('/indexes/products/settings', asAdmin)).body, {
    searchableAttributes: ['name', 'brand', 'description'],
    filterableAttributes: ['brand', 'price', '_geo'],
    sortableAttributes: ['_geo', 'price'],
    nonSeparatorTokens: ['#', '+'],
    pagination: { maxTotalHits: 200 },
    synonyms: { lamp: ['light'], light: ['lamp'], table: ['desk'] },
    typoTolerance: {
      enabled: true,
      minWordSizeForTypos: { oneTypo: 3, twoTypos: 9 },
      disableOnNumbers: true,
      disableOnWords: [],
      disableOnAttributes: [],
    },
  })
  const search = async (body: object) =>
    (
      (await server.post('/indexes/products/search', body, asAdmin)).body as unknown as {
        hits: { objectID: string }[]
      }
    ).hits
  t.deepEqual(
    (await search({ q: 'light' })).map(({ objectID }) => objectID),
    ['3', '2', documentId('https://a.b/1')],
  )
  t.deepEqual((await search({ q: 'lamp', filter: 'brand = Acme' }))[0] as object, {
    objectID: documentId('https://a.b/1'),
    ...{ name: 'Lamp', brand: 'Acme', price: 20, original_id: 'https://a.b/1', _geo: { lat: 1, lng: 2 } },
  })
  const off = (await server.get('/dynamic-search-rules/products-hide', asAdmin)).body
  t.like(off, { active: false, conditions: { query: { words: 'desk' } } })
  const found = lost(lines).join('\n')
  for (const one of [
    'the equal rank of `name,brand`',
    'filters on numbers',
    '`ignorePlurals`: see the setting `stemming`',
    '`replicas`: name attributes in `sortableAttributes`',
    'the placeholders `s3`',
    '`params` of the rule `pin`',
    'a condition of the rule `pin`: searches here have no context',
    '`is` of the rule `hide`',
    'the places of 1 document: `_geoloc`',
  ])
    t.true(found.includes(one), `${one}\n${found}`)
  t.false(found.includes('hitsPerPage'))
  t.false(found.includes('attributesToSnippet'))
})

test('Algolia: attributes that hits do not show are reported, or left out of those that they show', (t) => {
  const shown = (settings: object) => {
    const none = { uid: 'a', records: () => (async function* () {})(), synonyms: [], rules: [] }
    const { indexes } = readAlgolia({ ...none, settings })
    const hidden = indexes[0]?.leftOut.filter((line) => /isplayedAttributes/.test(line))
    return [indexes[0]?.settings.displayedAttributes, hidden]
  }
  t.deepEqual(shown({ attributesToRetrieve: ['*', '-cost', '-note'] }), [
    undefined,
    ['that `attributesToRetrieve` hides `cost`, `note`: name all other attributes in `displayedAttributes`'],
  ])
  t.deepEqual(shown({ attributesToRetrieve: ['*'], unretrievableAttributes: ['cost'] }), [
    undefined,
    ['`unretrievableAttributes`: name all other attributes in `displayedAttributes`'],
  ])
  const named = { attributesToRetrieve: ['name', 'cost'], unretrievableAttributes: ['cost'] }
  t.deepEqual(shown(named), [['objectID', 'name'], []])
})

test('rules with different names have different uids, in every run the same', (t) => {
  const names: Parameters<typeof ruleUid>[] = [
    ['films', 'qr-1'],
    ['films', 'qr 1'],
    ['films', 'qr', [1]],
    ['films-qr', '1'],
    ['films', '電影'],
    ['films', '音楽'],
    ['films', 'x'.repeat(300)],
    ['films', 'x'.repeat(301)],
  ]
  const uids = names.map((one) => ruleUid(...one))
  t.is(uids[0], 'films-qr-1')
  t.regex(uids[1] ?? '', /^films-qr-1-[0-9a-f]{8}$/)
  t.is(new Set(uids).size, names.length, uids.join('\n'))
  for (const uid of uids) t.regex(uid, /^[A-Za-z0-9_-]{1,210}$/)
  t.deepEqual(
    names.map((one) => ruleUid(...one)),
    uids,
  )
})

test('times that no date can have become the first or the last one', (t) => {
  const times = [0, 1e300, -1e300, 1_700_000_000_000, null, '2024'].map(momentOf)
  const last = '9999-12-31T23:59:59.000Z'
  t.deepEqual(times, ['1970-01-01T00:00:00.000Z', last, '0000-01-01T00:00:00.000Z', last, null, null])
})

const conversions: readonly {
  readonly name: string
  readonly json: string
  readonly converted: string
  readonly remarks: number
}[] = [
  {
    name: 'keeps the digits of numbers next to a place',
    json: '{"id":"1","size":9007199254740993,"tags":[1.10,{"n":1.0e40}],"place":{"lat":1,"lng":2}}',
    converted: '{"id":"1","size":9007199254740993,"tags":[1.10,{"n":1.0e40}],"_geo":{"lat":1,"lng":2}}',
    remarks: 0,
  },
  {
    name: 'keeps the last of two members of the same name',
    json: '{"id":"1","size":1,"size":2,"place":null,"__proto__":3}',
    converted: '{"id":"1","size":2,"__proto__":3}',
    remarks: 1,
  },
  {
    name: 'keeps the digits of numbers next to an encoded id',
    json: '{"id":"a/b","size":9007199254740993}',
    converted: `{"id":"${documentId('a/b')}","size":9007199254740993,"original_id":"a/b"}`,
    remarks: 1,
  },
  {
    name: 'keeps a field with the name of the original id',
    json: '{"id":"a/b","original_id":"mine"}',
    converted: `{"id":"${documentId('a/b')}","original_id":"mine"}`,
    remarks: 2,
  },
]

for (const { name, json, converted, remarks } of conversions)
  test(`a converted document ${name}`, (t) => {
    const geo = { field: 'place', order: 'object' } as const
    const converter = new DocumentConverter({ idField: 'id', removed: [], geo, vectors: [] })
    t.is(converter.convert(Buffer.from(json)), converted)
    t.is(converter.remarks().length, remarks)
  })
