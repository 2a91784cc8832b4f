/**
 * Effects of settings over HTTP. Acceptance cases of settings §12 and their tests:
 *
 *     1           settings.spec.ts: a fresh index shows twenty settings in their order
 *     2–5         a change creates the index, a reset does not
 *     6–10, 70    the body of a change is an object of settings
 *     11–13, 28   lists of attributes keep their order, a star means all
 *     14–18       earlier searchable attributes have more weight, others are not searched
 *     19–27       filterable rules get defaults, the first match decides
 *     29–34       ranking rules are built-in, or sort by a field
 *     35–38       words and tokens are sets
 *     39–41       synonyms work one way and are replaced completely
 *     42–49       typo tolerance is merged key by key
 *     50–53       faceting merges its two keys, but replaces the sort orders
 *     54–55       pagination limits searches, not documents
 *     56–59       modes are enumerated words
 *     60–62       locales are shown with three letters
 *     63          documents with equal distinct values count once, documents without a value each
 *     64–66       embedders are complete or refused
 *     67, 72      settings of disabled features are refused
 *     68          a setting in conflict with stored documents fails and changes nothing
 *     69          a full reset lists every setting
 *     71          keys.spec.ts: a missing index is created only by a key that may create it
 *     73–75       writes sent one after another take effect in order
 */
import test from 'ava'
import { freshSettings } from '../support/fresh-settings.js'
import { startServer } from '../support/server.js'
import { runSteps, type Step } from '../support/steps.js'

const index = '/indexes/books'
const docs = `${index}/documents?primaryKey=id`
const settings = `${index}/settings`
const at = (segment: string): string => `${settings}/${segment}`
const ok = { succeeds: true } as const
const refusedAs = (setting: string) => ({ refused: `invalid_settings_${setting}` })
const shows = (segment: string, is: unknown): Step => [`GET ${at(segment)}`, undefined, { is }]
const finds = (body: object, ids: readonly unknown[]): Step => [`POST ${index}/search`, body, { ids }]
const notFiltered = { refused: 'invalid_search_filter' } as const
const filled = { facetSearch: false, filter: { equality: true, comparison: false } }

/** Claims about settings, each with requests to a new server that prove it. */
const cases: Readonly<Record<string, readonly Step[]>> = {
  'a change creates the index, a reset does not': [
    ['PATCH /indexes/fresh/settings', {}, { succeeds: {} }],
    ['GET /indexes/fresh', undefined, { holds: { primaryKey: null } }],
    ['PUT /indexes/fresh2/settings/stop-words', 'null', { succeeds: { stopWords: null } }],
    ['GET /indexes/fresh2', undefined, { status: 200 }],
    ['GET /indexes/ghost/settings', undefined, { refused: 'index_not_found' }],
    ['DELETE /indexes/ghost/settings', undefined, { fails: 'index_not_found' }],
    ['DELETE /indexes/ghost/settings/stop-words', undefined, { fails: 'index_not_found' }],
    ['GET /indexes/ghost', undefined, { refused: 'index_not_found' }],
    ['PATCH /indexes/bad%20uid!/settings', {}, { refused: 'invalid_index_uid' }],
    ['GET /indexes/bad%20uid!/settings/stop-words', undefined, { refused: 'invalid_index_uid' }],
  ],
  'the body of a change is an object of settings': [
    ...[[], 3, 'x', null, { colour: 1 }].map(
      (body): Step => [`PATCH ${settings}`, JSON.stringify(body), { refused: 'bad_request' }],
    ),
    [`PATCH ${settings}`, '{"stopWords":', { refused: 'malformed_payload' }],
    [`PATCH ${settings}`, '', { refused: 'missing_payload' }],
    [`PATCH ${settings}`, '{}', { refused: 'invalid_content_type' }, { 'content-type': 'text/plain' }],
    [`PATCH ${settings}?customMetadata=x&ghost=1`, {}, ok],
    [`PATCH ${settings}`, { stopWords: ['x'], pagination: { maxTotalHits: 0 } }, refusedAs('pagination')],
    shows('stop-words', []),
  ],
  'lists of attributes keep their order, a star means all': [
    [`PUT ${at('displayed-attributes')}`, ['title', 'author', 'title'], ok],
    shows('displayed-attributes', ['title', 'author']),
    [
      `PUT ${at('displayed-attributes')}`,
      ['title', '*'],
      { succeeds: { displayedAttributes: ['title', '*'] } },
    ],
    shows('displayed-attributes', ['*']),
    [`PUT ${at('displayed-attributes')}`, [], ok],
    [`POST ${docs}`, { id: 1, title: 'Ash' }, ok],
    [`POST ${index}/search`, {}, { holds: { hits: [{}] } }],
    [`GET ${index}/documents/1`, undefined, { is: { id: 1, title: 'Ash' } }],
    [`PUT ${at('searchable-attributes')}`, '"title"', refusedAs('searchable_attributes')],
    [`PUT ${at('searchable-attributes')}`, 'null', { succeeds: { searchableAttributes: ['*'] } }],
    [
      `PUT ${at('sortable-attributes')}`,
      ['year', 'author', 'year'],
      { succeeds: { sortableAttributes: ['author', 'year'] } },
    ],
    shows('sortable-attributes', ['author', 'year']),
    [`PUT ${at('sortable-attributes')}`, [1], refusedAs('sortable_attributes')],
  ],
  'earlier searchable attributes have more weight, others are not searched': [
    [`PUT ${at('searchable-attributes')}`, ['summary', 'title', 'meta'], ok],
    [
      `POST ${docs}`,
      [
        { id: 1, title: 'amber', summary: 'stone' },
        { id: 2, title: 'stone', summary: 'amber' },
        { id: 3, meta: { tag: 'quartz' }, name: 'opal' },
      ],
      ok,
    ],
    finds({ q: 'amber' }, [2, 1]),
    finds({ q: 'quartz' }, [3]),
    finds({ q: 'opal' }, []),
    [`PUT ${at('searchable-attributes')}`, [], ok],
    shows('searchable-attributes', []),
    finds({ q: 'amber' }, []),
    finds({ q: '' }, [1, 2, 3]),
    [`PUT ${at('searchable-attributes')}`, 'null', { succeeds: { searchableAttributes: ['*'] } }],
    shows('searchable-attributes', ['*']),
    finds({ q: 'opal' }, [3]),
  ],
  'filterable rules get defaults, the first match decides': [
    [`PUT ${at('filterable-attributes')}`, ['genre', { attributePatterns: ['spec.*'] }, 'genre'], ok],
    shows('filterable-attributes', ['genre', { attributePatterns: ['spec.*'], features: filled }, 'genre']),
    [`POST ${docs}`, { id: 1, spec: { cpu: 8 }, made_at: 1900, box: { w: 2 }, other: 3 }, ok],
    finds({ filter: 'spec.cpu = 8' }, [1]),
    finds({ filter: 'spec.cpu EXISTS' }, [1]),
    [`POST ${index}/search`, { filter: 'spec.cpu > 4' }, notFiltered],
    [
      `PUT ${at('filterable-attributes')}`,
      [{ attributePatterns: ['*_at'], features: { filter: { equality: false, comparison: true } } }],
      ok,
    ],
    finds({ filter: 'made_at >= 1800' }, [1]),
    [`POST ${index}/search`, { filter: 'made_at = 1900' }, notFiltered],
    [
      `PUT ${at('filterable-attributes')}`,
      [
        { attributePatterns: ['pin'], features: { filter: { equality: false } } },
        { attributePatterns: ['*'] },
      ],
      ok,
    ],
    [`POST ${index}/search`, { filter: 'pin = 3' }, notFiltered],
    finds({ filter: 'other = 3' }, [1]),
    [`PUT ${at('filterable-attributes')}`, [{ attributePatterns: ['box'] }], ok],
    [`POST ${index}/search`, { filter: 'box.w = 2' }, notFiltered],
    [`PUT ${at('filterable-attributes')}`, ['box'], ok],
    finds({ filter: 'box.w = 2' }, [1]),
    ...[
      { features: {} },
      { attributePatterns: ['a'], extra: 1 },
      { attributePatterns: ['a'], features: null },
      { attributePatterns: ['a'], features: { filter: null } },
      { attributePatterns: ['a'], features: { facetSearch: 1 } },
      { attributePatterns: ['a'], features: { filter: { equal: true } } },
      { attributePatterns: 'a' },
      { attributePatterns: null },
      3,
      null,
    ].map((rule): Step => [`PUT ${at('filterable-attributes')}`, [rule], refusedAs('filterable_attributes')]),
  ],
  'ranking rules are built-in, or sort by a field': [
    [`PUT ${at('ranking-rules')}`, ['sort', 'words', 'pages:desc', 'pages:desc'], ok],
    shows('ranking-rules', ['sort', 'words', 'pages:desc', 'pages:desc']),
    ...[
      ['attribute', 'wordPosition'],
      ['attribute', 'attributeRank'],
      ['pages:down'],
      ['pages'],
      ['Words'],
      ['_geoPoint(3,4):asc'],
      ['_geo:asc'],
      ['_geoRadius(1,2,3):desc'],
      [3],
      'words',
    ].map((rules): Step => [`PUT ${at('ranking-rules')}`, JSON.stringify(rules), refusedAs('ranking_rules')]),
    [`PUT ${at('ranking-rules')}`, ['vol:no:asc', ':asc'], ok],
    [`PUT ${at('ranking-rules')}`, ['pages:desc'], ok],
    [`POST ${docs}`, [{ id: 1, pages: 20 }, { id: 2, pages: 300 }, { id: 3 }], ok],
    finds({}, [2, 1, 3]),
    [`PUT ${at('ranking-rules')}`, [], ok],
    shows('ranking-rules', []),
  ],
  'words and tokens are sets': [
    [`PUT ${at('stop-words')}`, ['the', 'Of', 'the'], { succeeds: { stopWords: ['Of', 'the'] } }],
    shows('stop-words', ['Of', 'the']),
    [`PUT ${at('stop-words')}`, { 0: 'the' }, refusedAs('stop_words')],
    [`PUT ${at('separator-tokens')}`, ['§', '§'], { succeeds: { separatorTokens: ['§'] } }],
    [`PUT ${at('non-separator-tokens')}`, ['#'], ok],
    [`PUT ${at('dictionary')}`, ['b', 'a'], { succeeds: { dictionary: ['a', 'b'] } }],
    [`PUT ${at('dictionary')}`, [null], refusedAs('dictionary')],
    [
      `POST ${docs}`,
      [
        { id: 1, t: 'north§south' },
        { id: 2, t: 'c# guide' },
        { id: 3, t: 'c guide' },
      ],
      ok,
    ],
    finds({ q: 'south' }, [1]),
    finds({ q: '"c#"' }, [2]),
  ],
  'synonyms work one way and are replaced completely': [
    [`PUT ${at('synonyms')}`, { sofa: ['couch'] }, ok],
    [`POST ${docs}`, { id: 1, t: 'couch' }, ok],
    finds({ q: 'sofa' }, [1]),
    [`POST ${docs}`, { id: 2, t: 'sofa' }, ok],
    finds({ q: 'couch' }, [1]),
    [`PUT ${at('synonyms')}`, { Bike: ['cycle', 'bicycle', 'cycle'], a: [] }, ok],
    shows('synonyms', { Bike: ['cycle', 'bicycle', 'cycle'], a: [] }),
    [`PATCH ${settings}`, { synonyms: { cab: ['taxi'] } }, ok],
    shows('synonyms', { cab: ['taxi'] }),
    [`PUT ${at('synonyms')}`, { a: 'b' }, refusedAs('synonyms')],
    [`PUT ${at('synonyms')}`, [], refusedAs('synonyms')],
    [`PATCH ${settings}`, { synonyms: null }, { succeeds: { synonyms: null } }],
    shows('synonyms', {}),
  ],
  'typo tolerance is merged key by key': [
    [
      `PATCH ${at('typo-tolerance')}`,
      { minWordSizeForTypos: { oneTypo: 7 } },
      { succeeds: { typoTolerance: { minWordSizeForTypos: { oneTypo: 7 } } } },
    ],
    [
      `PATCH ${at('typo-tolerance')}`,
      { minWordSizeForTypos: { twoTypos: 6 } },
      { fails: 'invalid_settings_typo_tolerance' },
    ],
    [
      `GET ${at('typo-tolerance')}`,
      undefined,
      { holds: { enabled: true, minWordSizeForTypos: { oneTypo: 7, twoTypos: 9 } } },
    ],
    ...[
      { minWordSizeForTypos: { oneTypo: 8, twoTypos: 3 } },
      { minWordSizeForTypos: { oneTypo: 300 } },
      { minWordSizeForTypos: { oneTypo: -1 } },
      { minWordSizeForTypos: { three: 1 } },
      { unknown: 1 },
      { enabled: 'yes' },
      { disableOnWords: 'x' },
      3,
    ].map(
      (body): Step => [`PATCH ${at('typo-tolerance')}`, JSON.stringify(body), refusedAs('typo_tolerance')],
    ),
    [`PATCH ${at('typo-tolerance')}`, { disableOnWords: ['Crème', 'axle'], enabled: false }, ok],
    [`PATCH ${settings}`, { typoTolerance: { disableOnNumbers: true } }, ok],
    [
      `GET ${at('typo-tolerance')}`,
      undefined,
      { holds: { enabled: false, disableOnNumbers: true, disableOnWords: ['axle', 'creme'] } },
    ],
    [`PATCH ${at('typo-tolerance')}`, { minWordSizeForTypos: { oneTypo: null }, enabled: null }, ok],
    [
      `GET ${at('typo-tolerance')}`,
      undefined,
      { holds: { enabled: true, minWordSizeForTypos: { oneTypo: 5, twoTypos: 9 } } },
    ],
    [`POST ${docs}`, { id: 1, n: '20481' }, ok],
    finds({ q: '20482' }, []),
    [`PATCH ${at('typo-tolerance')}`, { disableOnNumbers: false }, ok],
    finds({ q: '20482' }, [1]),
  ],
  'faceting merges its two keys, but replaces the sort orders': [
    [`PATCH ${at('faceting')}`, { sortFacetValuesBy: { genre: 'count' } }, ok],
    shows('faceting', { maxValuesPerFacet: 100, sortFacetValuesBy: { '*': 'alpha', genre: 'count' } }),
    [`PATCH ${at('faceting')}`, { sortFacetValuesBy: { lang: 'count' }, maxValuesPerFacet: 7 }, ok],
    [`PATCH ${at('faceting')}`, { maxValuesPerFacet: null }, ok],
    shows('faceting', { maxValuesPerFacet: 100, sortFacetValuesBy: { '*': 'alpha', lang: 'count' } }),
    ...[{ sortFacetValuesBy: { genre: 'size' } }, { maxValuesPerFacet: 1.5 }, { maxValues: 3 }, []].map(
      (body): Step => [`PATCH ${at('faceting')}`, JSON.stringify(body), refusedAs('faceting')],
    ),
  ],
  'pagination limits searches, not documents': [
    [`PATCH ${at('pagination')}`, { maxTotalHits: 2 }, ok],
    [`POST ${docs}`, [1, 2, 3, 4, 5].map((id) => ({ id })), ok],
    finds({ limit: 10 }, [1, 2]),
    [`GET ${index}/documents?limit=10`, undefined, { ids: [1, 2, 3, 4, 5] }],
    ...[{ maxTotalHits: 0 }, { maxTotalHits: '5' }, { maxTotalHits: -1 }, { max: 3 }, 'x'].map(
      (body): Step => [`PATCH ${at('pagination')}`, JSON.stringify(body), refusedAs('pagination')],
    ),
    [`PATCH ${at('pagination')}`, 'null', { succeeds: { pagination: null } }],
    shows('pagination', { maxTotalHits: 1000 }),
  ],
  'weights of attributes are numbers above 0 for searchable attributes': [
    ...[{ title: -1 }, { title: 0 }, { title: 101 }, { title: '2' }, { title: null }, ['title'], 3].map(
      (body): Step => [
        `PUT ${at('attribute-weights')}`,
        JSON.stringify(body),
        refusedAs('attribute_weights'),
      ],
    ),
    [`PUT ${at('searchable-attributes')}`, ['title', 'text'], ok],
    [`PUT ${at('attribute-weights')}`, { author: 2 }, { fails: 'invalid_settings_attribute_weights' }],
    shows('attribute-weights', {}),
    [`GET ${settings}`, undefined, { is: { ...freshSettings, searchableAttributes: ['title', 'text'] } }],
    [`PUT ${at('attribute-weights')}`, { title: 2.5, text: 1 }, ok],
    shows('attribute-weights', { text: 1, title: 2.5 }),
    [`DELETE ${at('attribute-weights')}`, undefined, { succeeds: { attributeWeights: null } }],
    shows('attribute-weights', {}),
  ],
  'searches find the forms of words in the languages of stemming': [
    ...[['jpn'], ['english'], 'eng', { eng: true }, [1]].map(
      (body): Step => [`PUT ${at('stemming')}`, JSON.stringify(body), refusedAs('stemming')],
    ),
    [
      `POST ${docs}`,
      [
        { id: 1, t: 'walks' },
        { id: 2, t: 'walking' },
      ],
      ok,
    ],
    finds({ q: 'walked ' }, []),
    shows('stemming', []),
    [`PUT ${at('stemming')}`, ['en', 'deu', 'eng'], { succeeds: { stemming: ['en', 'deu', 'eng'] } }],
    shows('stemming', ['deu', 'eng']),
    finds({ q: 'walked ' }, [1, 2]),
    [`DELETE ${at('stemming')}`, undefined, { succeeds: { stemming: null } }],
    finds({ q: 'walked ' }, []),
    [`GET ${settings}`, undefined, { is: freshSettings }],
  ],
  'searches find compounds by their parts in the languages of compounds': [
    ...[['eng'], ['german'], 'deu', [1]].map(
      (body): Step => [`PUT ${at('compounds')}`, JSON.stringify(body), refusedAs('compounds')],
    ),
    [
      `POST ${docs}`,
      [
        { id: 1, t: 'Arbeitszimmer' },
        { id: 2, t: 'Arbeit' },
      ],
      ok,
    ],
    finds({ q: 'zimmer ' }, []),
    shows('compounds', []),
    [`PUT ${at('compounds')}`, ['de', 'swe'], { succeeds: { compounds: ['de', 'swe'] } }],
    shows('compounds', ['deu', 'swe']),
    finds({ q: 'zimmer ' }, [1]),
    [`DELETE ${at('compounds')}`, undefined, { succeeds: { compounds: null } }],
    finds({ q: 'zimmer ' }, []),
    [`GET ${settings}`, undefined, { is: freshSettings }],
  ],
  'searches find Chinese words by their pinyin': [
    ...['full', ['cmn'], 1].map(
      (body): Step => [`PUT ${at('pinyin')}`, JSON.stringify(body), refusedAs('pinyin')],
    ),
    [
      `POST ${docs}`,
      [
        { id: 1, t: '北京' },
        { id: 2, t: 'bei' },
      ],
      ok,
    ],
    finds({ q: 'beijing ' }, []),
    shows('pinyin', false),
    [`PUT ${at('pinyin')}`, true, { succeeds: { pinyin: true } }],
    shows('pinyin', true),
    finds({ q: 'beijing' }, [1]),
    [`DELETE ${at('pinyin')}`, undefined, { succeeds: { pinyin: null } }],
    finds({ q: 'beijing ' }, []),
    [`GET ${settings}`, undefined, { is: freshSettings }],
  ],
  'searches ignore the words of stop word lists': [
    ...[['tha'], ['english'], 'eng', 7].map(
      (body): Step => [`PUT ${at('stop-word-lists')}`, JSON.stringify(body), refusedAs('stop_word_lists')],
    ),
    [`POST ${docs}`, [{ id: 1, t: 'sea' }], ok],
    finds({ q: 'the sea ', matchingStrategy: 'all' }, []),
    [`PUT ${at('stop-word-lists')}`, ['en'], { succeeds: { stopWordLists: ['en'] } }],
    shows('stop-word-lists', ['eng']),
    finds({ q: 'the sea ', matchingStrategy: 'all' }, [1]),
    [`DELETE ${at('stop-word-lists')}`, undefined, { succeeds: { stopWordLists: null } }],
    [`GET ${settings}`, undefined, { is: freshSettings }],
  ],
  'the default matching strategy applies to searches without one': [
    [`PUT ${at('matching-strategy')}`, '"some"', refusedAs('matching_strategy')],
    [
      `POST ${docs}`,
      [
        { id: 1, t: 'tin' },
        { id: 2, t: 'copper' },
      ],
      ok,
    ],
    finds({ q: 'copper tin ' }, [2]),
    [`PUT ${at('matching-strategy')}`, '"any"', ok],
    finds({ q: 'copper tin ' }, [1, 2]),
    finds({ q: 'copper tin ', matchingStrategy: 'last' }, [2]),
    [`GET ${settings}`, undefined, { is: { ...freshSettings, matchingStrategy: 'any' } }],
  ],
  'modes are enumerated words': [
    [`PUT ${at('proximity-precision')}`, '"byword"', refusedAs('proximity_precision')],
    [`PUT ${at('proximity-precision')}`, '"byAttribute"', ok],
    [`PUT ${at('prefix-search')}`, '"disabled"', ok],
    [`POST ${docs}`, { id: 1, t: 'lantern' }, ok],
    finds({ q: 'lant' }, []),
    [`DELETE ${at('prefix-search')}`, undefined, { succeeds: { prefixSearch: null } }],
    finds({ q: 'lant' }, [1]),
    [`PUT ${at('facet-search')}`, 'false', ok],
    [`POST ${index}/facet-search`, { facetName: 't' }, { refused: 'facet_search_disabled' }],
    [`PUT ${at('facet-search')}`, '1', refusedAs('facet_search')],
    [`PUT ${at('search-cutoff-ms')}`, '-1', refusedAs('search_cutoff_ms')],
    [`PUT ${at('search-cutoff-ms')}`, '"50"', refusedAs('search_cutoff_ms')],
    [`PUT ${at('search-cutoff-ms')}`, '50.0', refusedAs('search_cutoff_ms')],
    [`PUT ${at('search-cutoff-ms')}`, '50', ok],
    shows('search-cutoff-ms', 50),
    [`PUT ${at('distinct-attribute')}`, '["a"]', refusedAs('distinct_attribute')],
  ],
  'locales are shown with three letters': [
    [
      `PUT ${at('localized-attributes')}`,
      [{ attributePatterns: ['*_ja'], locales: ['ja'] }],
      { succeeds: { localizedAttributes: [{ attributePatterns: ['*_ja'], locales: ['ja'] }] } },
    ],
    shows('localized-attributes', [{ attributePatterns: ['*_ja'], locales: ['jpn'] }]),
    ...[
      [{ attributePatterns: ['a'], locales: ['xx'] }],
      [{ attributePatterns: ['a'] }],
      [{ locales: [] }],
      [{ attributePatterns: ['a'], locales: [], x: 1 }],
      {},
    ].map(
      (body): Step => [
        `PUT ${at('localized-attributes')}`,
        JSON.stringify(body),
        refusedAs('localized_attributes'),
      ],
    ),
    [`PUT ${at('localized-attributes')}`, [], ok],
    shows('localized-attributes', []),
    [`PUT ${at('localized-attributes')}`, 'null', ok],
    shows('localized-attributes', null),
  ],
  'documents with equal distinct values count once, documents without a value each': [
    [`PUT ${at('distinct-attribute')}`, '"sku"', ok],
    [`POST ${docs}`, [{ id: 1, sku: 'A' }, { id: 2, sku: 'A' }, { id: 3 }, { id: 4 }], ok],
    finds({}, [1, 3, 4]),
  ],
  'embedders are complete or refused': [
    [`PATCH ${at('embedders')}`, { man: { source: 'userProvided' } }, refusedAs('embedders')],
    [`PATCH ${at('embedders')}`, { man: { source: 'userProvided', dimensions: 3 } }, ok],
    [`PATCH ${at('embedders')}`, { man: null }, ok],
    shows('embedders', {}),
    ...[
      { man: { source: 'userProvided', dimensions: 3, model: 'm' } },
      { man: { source: 'userProvided', dimensions: 0 } },
      { man: { source: 'nobody' } },
      { man: { source: 'rest', url: 'no url', request: '{{text}}', response: '{{embedding}}' } },
      { man: { source: 'ollama' } },
      { man: { source: 'userProvided', dimensions: 3, distribution: { mean: 2, sigma: 0.1 } } },
      { man: 3 },
      [],
    ].map((body): Step => [`PATCH ${at('embedders')}`, JSON.stringify(body), refusedAs('embedders')]),
    [`PATCH ${at('embedders')}`, { man: { source: 'composite' } }, refusedAs('embedders')],
  ],
  'settings of disabled features are refused': [
    [
      `PATCH ${settings}`,
      { foreignKeys: [{ foreignIndexUid: 'a', fieldName: 'b' }] },
      { refused: 'feature_not_enabled' },
    ],
    [`PUT ${at('foreign-keys')}`, [], { refused: 'feature_not_enabled' }],
    [`PUT ${at('foreign-keys')}`, 'null', ok],
    [`PATCH ${at('chat')}`, {}, { refused: 'feature_not_enabled' }],
    [`PATCH ${at('chat')}`, { x: 1 }, { refused: 'invalid_settings_index_chat' }],
    [
      `GET ${at('chat')}`,
      undefined,
      { holds: { description: '', documentTemplateMaxBytes: 400, searchParameters: {} } },
    ],
    shows('foreign-keys', []),
  ],
  'a setting in conflict with stored documents fails and changes nothing': [
    [`POST ${docs}`, { id: 1, _geo: { lat: 'north', lng: 2 } }, ok],
    [`PUT ${at('filterable-attributes')}`, ['_geo'], { fails: 'invalid_document_geo_field' }],
    shows('filterable-attributes', []),
  ],
  'a full reset lists every setting': [
    [`PATCH ${settings}`, { stopWords: ['a'], distinctAttribute: 'x' }, ok],
    [
      `DELETE ${settings}`,
      undefined,
      {
        succeeds: {
          displayedAttributes: ['*'],
          searchableAttributes: ['*'],
          ...Object.fromEntries(
            [
              'filterableAttributes',
              'sortableAttributes',
              'foreignKeys',
              'rankingRules',
              'stopWords',
              'nonSeparatorTokens',
              'separatorTokens',
              'dictionary',
              'synonyms',
              'distinctAttribute',
              'proximityPrecision',
              'typoTolerance',
              'faceting',
              'pagination',
              'embedders',
              'searchCutoffMs',
              'localizedAttributes',
              'facetSearch',
              'prefixSearch',
              'chat',
            ].map((name) => [name, null]),
          ),
        },
      },
    ],
    [`GET ${settings}`, undefined, { is: freshSettings }],
  ],
}

for (const [claim, steps] of Object.entries(cases)) {
  test(claim, async (t) => runSteps(t, await startServer(t), steps))
}

test('writes sent one after another take effect in order', async (t) => {
  const server = await startServer(t)
  const sent = [
    server.post(docs, [{ id: 1, k: 1 }]),
    server.put(at('filterable-attributes'), ['k']),
    server.put(at('stop-words'), ['a']),
    server.put(at('stop-words'), ['b']),
    server.put(at('searchable-attributes'), ['t']),
    server.delete(at('searchable-attributes')),
  ]
  for (const accepted of sent) t.is((await server.settle(t, accepted)).status, 'succeeded')
  await runSteps(t, server, [
    finds({ filter: 'k = 1' }, [1]),
    shows('stop-words', ['b']),
    shows('searchable-attributes', ['*']),
  ])
})
