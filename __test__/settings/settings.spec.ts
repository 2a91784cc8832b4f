import test from 'ava'
import { ApiError } from '../../ts/errors/index.js'
import { readBody } from '../../ts/parse/index.js'
import {
  defaultIndexSettings,
  type IndexSettings,
  mergeSettings,
  renderSettings,
  resetAllSettings,
  type SettingName,
  type SettingsChange,
  settingRoutes,
  settingsBody,
  settingsChange,
} from '../../ts/settings/index.js'

const off = { foreignKeys: false, chatCompletions: false, compositeEmbedders: false, multimodal: false }
const on = { foreignKeys: true, chatCompletions: true, compositeEmbedders: true, multimodal: true }

const bytes = (body: unknown): Uint8Array =>
  Buffer.from(typeof body === 'string' && body.startsWith('{') ? body : JSON.stringify(body))

const parseSettingsPatch = (body: unknown, features: typeof off): SettingsChange =>
  settingsChange(readBody(bytes(body), settingsBody), features)

const parseSetting = (name: SettingName, body: unknown, features: typeof off): SettingsChange =>
  settingsChange(readBody(bytes(body), settingRoutes.find((route) => route.name === name)!.body), features)

/** Returns the code with which a body is refused, or null. */
function refusal(act: () => unknown): string | null {
  try {
    act()
    return null
  } catch (error) {
    if (error instanceof ApiError) return error.code
    throw error
  }
}

const written = (name: SettingName, ...bodies: unknown[]): IndexSettings =>
  bodies.reduce<IndexSettings>(
    (settings, body) => mergeSettings(settings, parseSetting(name, body, off).patch),
    defaultIndexSettings,
  )

test('a plain instance shows twenty settings in the order of the API', (t) => {
  t.deepEqual(Object.keys(renderSettings(defaultIndexSettings, off)), [
    'displayedAttributes',
    'searchableAttributes',
    'filterableAttributes',
    'sortableAttributes',
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
  ])
  t.is(Object.keys(renderSettings(defaultIndexSettings, on)).length, 22)
})

const filledIn = { facetSearch: false, filter: { equality: true, comparison: false } }

/** Body → stored value, and the value in the task if it differs. */
const accepted: readonly (readonly [SettingName, unknown, unknown, unknown?])[] = [
  ['displayedAttributes', ['title', 'author', 'title'], ['title', 'author'], ['title', 'author', 'title']],
  ['displayedAttributes', ['title', '*'], ['*'], ['title', '*']],
  ['searchableAttributes', [], []],
  ['searchableAttributes', null, ['*'], ['*']],
  [
    'filterableAttributes',
    ['genre', { attributePatterns: ['spec.*'] }, 'genre'],
    ['genre', { attributePatterns: ['spec.*'], features: filledIn }, 'genre'],
  ],
  ['sortableAttributes', ['year', 'author', 'year'], ['author', 'year']],
  [
    'rankingRules',
    ['sort', 'words', 'pages:desc', 'pages:desc'],
    ['sort', 'words', 'pages:desc', 'pages:desc'],
  ],
  ['rankingRules', ['vol:no:asc', ':asc'], ['vol:no:asc', ':asc']],
  ['rankingRules', [], []],
  ['stopWords', ['the', 'Of', 'the'], ['Of', 'the']],
  ['stopWords', ['é'], ['e\u0301'], ['é']],
  ['synonyms', { b: ['x', 'x'], a: [] }, { a: [], b: ['x', 'x'] }],
  ['synonyms', null, {}, null],
  ['searchCutoffMs', 50, 50],
  ['searchCutoffMs', 2 ** 64 - 2048, Number.MAX_SAFE_INTEGER],
  ['distinctAttribute', 'sku', 'sku'],
  [
    'localizedAttributes',
    [{ attributePatterns: ['*_ja'], locales: ['ja', 'cmn'] }],
    [{ attributePatterns: ['*_ja'], locales: ['jpn', 'cmn'] }],
    [{ attributePatterns: ['*_ja'], locales: ['ja', 'cmn'] }],
  ],
  ['localizedAttributes', [], []],
]

for (const [name, body, stored, shown = stored] of accepted) {
  test(`${name} accepts ${JSON.stringify(body)}`, (t) => {
    const change = parseSetting(name, body, off)
    t.deepEqual(change.details, { [name]: shown })
    t.deepEqual(mergeSettings(defaultIndexSettings, change.patch)[name], stored as never)
  })
}

const manySizes = { minWordSizeForTypos: { oneTypo: 8, twoTypos: 3 } }

/** Body of a setting's own route → the code of its refusal. */
const refused: readonly (readonly [SettingName, unknown, string])[] = [
  ['searchableAttributes', 'title', 'invalid_settings_searchable_attributes'],
  ['filterableAttributes', [{ features: {} }], 'invalid_settings_filterable_attributes'],
  [
    'filterableAttributes',
    [{ attributePatterns: ['a'], extra: 1 }],
    'invalid_settings_filterable_attributes',
  ],
  [
    'filterableAttributes',
    [{ attributePatterns: ['a'], features: null }],
    'invalid_settings_filterable_attributes',
  ],
  ['rankingRules', ['attribute', 'wordPosition'], 'invalid_settings_ranking_rules'],
  ['rankingRules', ['pages:down'], 'invalid_settings_ranking_rules'],
  ['rankingRules', ['_geoPoint(3,4):asc'], 'invalid_settings_ranking_rules'],
  ['rankingRules', ['_geo:asc'], 'invalid_settings_ranking_rules'],
  ['stopWords', { 0: 'the' }, 'invalid_settings_stop_words'],
  ['synonyms', { a: 'b' }, 'invalid_settings_synonyms'],
  ['typoTolerance', manySizes, 'invalid_settings_typo_tolerance'],
  ['typoTolerance', { minWordSizeForTypos: { oneTypo: 300 } }, 'invalid_settings_typo_tolerance'],
  ['typoTolerance', { unknown: 1 }, 'invalid_settings_typo_tolerance'],
  ['faceting', { sortFacetValuesBy: { genre: 'size' } }, 'invalid_settings_faceting'],
  ['pagination', { maxTotalHits: 0 }, 'invalid_settings_pagination'],
  ['proximityPrecision', 'byword', 'invalid_settings_proximity_precision'],
  ['searchCutoffMs', -1, 'invalid_settings_search_cutoff_ms'],
  ['searchCutoffMs', 1e300, 'invalid_settings_search_cutoff_ms'],
  ['searchCutoffMs', 1.5, 'invalid_settings_search_cutoff_ms'],
  ['searchCutoffMs', '50', 'invalid_settings_search_cutoff_ms'],
  [
    'localizedAttributes',
    [{ attributePatterns: ['a'], locales: ['xx'] }],
    'invalid_settings_localized_attributes',
  ],
  ['embedders', { man: { source: 'userProvided' } }, 'invalid_settings_embedders'],
  ['embedders', { man: { source: 'userProvided', dimensions: 3, model: 'm' } }, 'invalid_settings_embedders'],
  ['embedders', { '': { source: 'userProvided', dimensions: 3 } }, 'invalid_settings_embedders'],
  ['embedders', { a: { source: 'openAi', model: 'nope' } }, 'invalid_settings_embedders'],
  ['embedders', { a: { documentTemplate: '{% if %' } }, 'invalid_settings_embedders'],
  [
    'embedders',
    { a: { source: 'rest', url: 'http://h', request: 'x', response: 'y' } },
    'vector_embedding_error',
  ],
  ['embedders', { a: { source: 'composite', searchEmbedder: {} } }, 'invalid_settings_embedders'],
  ['embedders', { a: { indexingFragments: { f: { value: 1 } } } }, 'feature_not_enabled'],
  ['foreignKeys', [{ foreignIndexUid: 'a', fieldName: 'b' }], 'feature_not_enabled'],
  ['foreignKeys', [{ foreignIndexUid: 'a' }], 'invalid_settings_foreign_keys'],
  ['chat', {}, 'feature_not_enabled'],
  ['chat', { documentTemplateMaxBytes: 0 }, 'invalid_settings_embedders'],
  ['chat', { colour: 1 }, 'invalid_settings_index_chat'],
]

for (const [name, body, code] of refused) {
  test(`${name} refuses ${JSON.stringify(body)} with ${code}`, (t) => {
    t.is(
      refusal(() => parseSetting(name, body, off)),
      code,
    )
    t.is(
      refusal(() => parseSettingsPatch({ [name]: body }, off)),
      code,
    )
  })
}

for (const body of [[], 3, 'text', null, { colour: 1 }]) {
  test(`the whole object refuses ${JSON.stringify(body)} with bad_request`, (t) => {
    t.is(
      refusal(() => parseSettingsPatch(body, off)),
      'bad_request',
    )
  })
}

test('every setting has a value that is refused with its own code', (t) => {
  for (const { name, code } of settingRoutes) {
    t.is(
      refusal(() => parseSettingsPatch({ [name]: { '?': -1.5 } }, on)),
      code,
    )
  }
})

test('the first mistake in payload order is reported', (t) => {
  const body = { pagination: { maxTotalHits: 0 }, stopWords: 1 }
  t.is(
    refusal(() => parseSettingsPatch(body, off)),
    'invalid_settings_pagination',
  )
  t.is(
    refusal(() => parseSettingsPatch({ stopWords: 1, pagination: body.pagination }, off)),
    'invalid_settings_stop_words',
  )
})

test('a mistake has the name of the setting in its path in the complete object, but not in its own route', (t) => {
  const whole = t.throws(() => parseSettingsPatch({ pagination: { maxTotalHits: 'x' } }, off))
  t.regex(whole.message, /`\.pagination\.maxTotalHits`/)
  const alone = t.throws(() => parseSetting('pagination', { maxTotalHits: 'x' }, off))
  t.regex(alone.message, /at `\.maxTotalHits`/)
  t.regex(alone.message, /positive integer.*string: `"x"`/)
})

test('a fractional number is refused for an integer', (t) => {
  t.is(
    refusal(() => parseSettingsPatch('{"searchCutoffMs":50.0}', off)),
    'invalid_settings_search_cutoff_ms',
  )
  t.is(
    refusal(() => parseSettingsPatch('{"pagination":{"maxTotalHits":1e2}}', off)),
    'invalid_settings_pagination',
  )
})

test('an unknown key is refused with the nearest key', (t) => {
  const error = t.throws(() => parseSettingsPatch({ stopWord: [] }, off))
  t.regex(error.message, /`stopWord`: did you mean `stopWords`\?/)
})

test('nested settings merge key by key and null resets one key', (t) => {
  const sizes = written('typoTolerance', { minWordSizeForTypos: { oneTypo: 7 } })
  t.deepEqual(sizes.typoTolerance.minWordSizeForTypos, { oneTypo: 7, twoTypos: 9 })
  const both = written('typoTolerance', { enabled: false }, { disableOnNumbers: true, enabled: null })
  t.true(both.typoTolerance.enabled)
  t.true(both.typoTolerance.disableOnNumbers)
  t.deepEqual(parseSetting('typoTolerance', { minWordSizeForTypos: { oneTypo: 7 } }, off).details, {
    typoTolerance: { minWordSizeForTypos: { oneTypo: 7 } },
  })
})

test('words excluded from typos are stored normalised', (t) => {
  t.deepEqual(written('typoTolerance', { disableOnWords: ['Crème', 'axle'] }).typoTolerance.disableOnWords, [
    'axle',
    'creme',
  ])
})

test('typo sizes in conflict with stored ones fail the task', (t) => {
  const stored = written('typoTolerance', { minWordSizeForTypos: { oneTypo: 7 } })
  const { patch } = parseSetting('typoTolerance', { minWordSizeForTypos: { twoTypos: 6 } }, off)
  t.is(
    refusal(() => mergeSettings(stored, patch)),
    'invalid_settings_typo_tolerance',
  )
})

test('the map of facet orders is replaced completely and always has a fallback', (t) => {
  const bodies = [{ sortFacetValuesBy: { genre: 'count' } }, { sortFacetValuesBy: { lang: 'count' } }]
  t.deepEqual(written('faceting', ...bodies, { maxValuesPerFacet: null }).faceting, {
    maxValuesPerFacet: 100,
    sortFacetValuesBy: { '*': 'alpha', lang: 'count' },
  })
})

test('synonyms are replaced, never merged', (t) => {
  t.deepEqual(written('synonyms', { Bike: ['cycle'] }, { cab: ['taxi'] }).synonyms, { cab: ['taxi'] })
})

test('a full reset lists every setting and restores every default', (t) => {
  const reset = resetAllSettings()
  t.is(Object.keys(reset.details).length, 22)
  t.deepEqual(reset.details.searchableAttributes, ['*'])
  t.is(reset.details.stopWords, null)
  const changed = written('stopWords', ['a'])
  t.deepEqual(mergeSettings(changed, reset.patch), defaultIndexSettings)
})

test('an embedder is merged by field, removed by null, and never shows its key', (t) => {
  const rest = { source: 'rest', url: 'http://h/', request: '{{text}}', response: '{{embedding}}' }
  const secret = 'a secret of more than thirty bytes'
  const change = parseSetting('embedders', { r: { ...rest, apiKey: secret } }, off)
  t.deepEqual(change.details, {
    embedders: {
      r: {
        source: 'rest',
        apiKey: 'a secXXXXXX...',
        url: 'http://h/',
        request: '{{text}}',
        response: '{{embedding}}',
      },
    },
  })
  const settings = written('embedders', { r: { ...rest, apiKey: secret } }, { r: { dimensions: 4 } })
  t.is(settings.embedders.r?.apiKey, secret)
  t.is(settings.embedders.r?.dimensions, 4)
  t.false(JSON.stringify(renderSettings(settings, off)).includes(secret))
  t.deepEqual(written('embedders', { r: rest }, { r: null, ghost: null }).embedders, {})
})

test('details of a change mask user names and passwords in URLs, also of nested embedders', (t) => {
  const features = { ...off, compositeEmbedders: true, rerankers: true }
  const rest = {
    source: 'rest',
    url: 'https://me:hunter2@h/?a=b',
    request: '{{text}}',
    response: '{{embedding}}',
  }
  const embedders = { r: rest, c: { source: 'composite', searchEmbedder: rest, indexingEmbedder: rest } }
  const rerankers = { k: { source: 'rest', url: rest.url } }
  for (const [name, sent, shown] of [
    ['embedders', embedders, 3],
    ['rerankers', rerankers, 1],
  ] as const) {
    const { details, patch } = parseSetting(name, sent, features)
    const text = JSON.stringify(details)
    t.is(text.split('https://XXX...@h/?a=b').length - 1, shown)
    t.false(text.includes('hunter2'))
    t.true(JSON.stringify(patch).includes('https://me:hunter2@h/?a=b'))
  }
})

test('masks that are sent back stand for the stored secrets, also in headers and nested embedders', (t) => {
  const features = { ...off, compositeEmbedders: true }
  const rest = {
    source: 'rest',
    url: 'https://h/',
    request: '{{text}}',
    response: '{{embedding}}',
    apiKey: 'a secret of more than thirty bytes',
    headers: { 'X-Api-Key': 'another secret', plain: 'visible', 'x-token': 'a third secret' },
  }
  const { apiKey, headers } = rest
  const composite = { source: 'composite', searchEmbedder: rest, indexingEmbedder: rest }
  const patches = {
    embedders: { r: rest, c: composite },
    rerankers: { k: { source: 'rest', url: rest.url, apiKey, headers } },
  }
  const merged = (settings: IndexSettings, sent: object): IndexSettings =>
    mergeSettings(settings, parseSettingsPatch(sent, features).patch)
  const stored = merged(defaultIndexSettings, patches)
  const shown = renderSettings(stored, features)
  const again = merged(stored, { embedders: shown.embedders, rerankers: shown.rerankers })
  t.deepEqual(renderSettings(again, features), shown)
  for (const settings of [stored, again])
    for (const secret of [apiKey, ...Object.values(headers)])
      t.is(JSON.stringify([settings.embedders, settings.rerankers]).split(secret).length - 1, 4)

  const changed = merged(again, { embedders: { r: { headers: { 'x-token': 'new', plain: 'a' } } } })
  t.deepEqual(changed.embedders.r?.headers, { plain: 'a', 'x-token': 'new' })
})

test('binary quantization cannot be turned off, and is removed with its embedder', (t) => {
  const quantised = { m: { source: 'userProvided', dimensions: 3, binaryQuantized: true } }
  const undo = { source: 'userProvided', dimensions: 3 }
  for (const fields of [{ ...undo, binaryQuantized: false }, { binaryQuantized: null }])
    t.is(
      refusal(() => written('embedders', quantised, { m: fields })),
      'invalid_settings_embedders',
    )
  t.deepEqual(written('embedders', quantised, { m: undo }).embedders, quantised)
  t.deepEqual(written('embedders', quantised, { m: null }).embedders, {})
})

test('an attribute with a weight stays searchable, so that complete settings can be set again', (t) => {
  const patch = { searchableAttributes: ['title', 'meta'], attributeWeights: { title: 2, 'meta.tag': 3 } }
  const weighted = mergeSettings(defaultIndexSettings, patch)
  for (const searchableAttributes of [['meta'], ['title'], []])
    t.is(
      refusal(() => mergeSettings(weighted, { searchableAttributes })),
      'invalid_settings_attribute_weights',
    )
  const accepted = [
    { searchableAttributes: ['meta'], attributeWeights: { meta: 1 } },
    { searchableAttributes: ['title'], attributeWeights: null },
    { searchableAttributes: ['meta.tag', 'title', 'text'] },
    { searchableAttributes: null },
    { stopWords: ['the'] },
  ]
  for (const change of accepted) {
    const after = mergeSettings(weighted, change)
    t.deepEqual(mergeSettings(defaultIndexSettings, { ...after }), after)
  }
})

test('an index has 255 embedders at most', (t) => {
  const named = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`e${at}`, { source: 'userProvided', dimensions: 1 }]),
    )
  t.is(
    refusal(() => written('embedders', named(255))),
    null,
  )
  t.is(
    refusal(() => written('embedders', named(256))),
    'invalid_settings_embedders',
  )
})

test('invalid placeholders are reported before missing and forbidden fields', (t) => {
  const codeOf = (g: object): unknown => refusal(() => parseSettingsPatch({ embedders: { g } }, on))
  for (const g of [
    { source: 'rest', request: 'no place for a text', response: '{{embedding}}' },
    { source: 'rest', url: 'http://a/', request: '{{text}}', response: {} },
    { source: 'rest', request: {} },
    { source: 'ollama', response: 7 },
    { source: 'composite', searchEmbedder: { request: {} } },
    { response: ['{{..}}', '{{embedding}}'] },
  ])
    t.is(codeOf(g), 'vector_embedding_error', JSON.stringify(g))
  t.is(codeOf({ source: 'rest', url: 'http://a/', request: '{{text}}' }), 'invalid_settings_embedders')
  t.is(codeOf({ source: 'ollama', request: '{{text}}' }), 'invalid_settings_embedders')
})

test('a template with an unknown tag or filter is refused when it is set', (t) => {
  const template = (text: string) => ({ source: 'openAi', documentTemplate: text })
  const fragments = (text: string) => ({
    source: 'rest',
    url: 'http://a/',
    request: '{{fragment}}',
    response: '{{embedding}}',
    indexingFragments: { f: { value: { parts: [1, text] } } },
    searchFragments: { s: { value: '{{ q }}' } },
  })
  const known = [
    '{% ifchanged %}{{ doc.a | upcase }}{% endifchanged %}',
    '{% tablerow i in doc.l %}{% endtablerow %}',
  ]
  for (const make of [template, fragments]) {
    for (const text of [
      '{% paint %}',
      '{{ doc.a | paint }}',
      '{% if doc.a | paint %}{% endif %}',
      '{{ doc.a',
    ])
      t.is(
        refusal(() => parseSettingsPatch({ embedders: { g: make(text) } }, on)),
        'invalid_settings_embedders',
        text,
      )
    for (const text of known)
      t.is(
        refusal(() => parseSettingsPatch({ embedders: { g: make(text) } }, on)),
        null,
        text,
      )
  }
})
