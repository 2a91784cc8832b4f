import test from 'ava'
import type { Index } from 'meilisearch'
import { openClient, refused } from '../support/client.js'

type Getter = () => Promise<unknown>
type Change = {
  waitTask(): Promise<{ readonly status: string; readonly type: string; readonly error: unknown }>
}

test('the official client reads, changes and resets every setting by its own methods', async (t) => {
  const client = await openClient(t, { features: ['foreignKeys', 'chatCompletions'] })
  await client.createIndex('films').waitTask()
  const index: Index = client.index('films')
  const settings: readonly (readonly [string, Getter, unknown, () => Change, unknown, () => Change])[] = [
    setting(
      'displayed',
      () => index.getDisplayedAttributes(),
      ['*'],
      ['title'],
      (v) => index.updateDisplayedAttributes(v),
      () => index.resetDisplayedAttributes(),
    ),
    setting(
      'searchable',
      () => index.getSearchableAttributes(),
      ['*'],
      ['title'],
      (v) => index.updateSearchableAttributes(v),
      () => index.resetSearchableAttributes(),
    ),
    setting(
      'filterable',
      () => index.getFilterableAttributes(),
      [],
      ['genre'],
      (v) => index.updateFilterableAttributes(v),
      () => index.resetFilterableAttributes(),
    ),
    setting(
      'sortable',
      () => index.getSortableAttributes(),
      [],
      ['a', 'b'],
      (v) => index.updateSortableAttributes(v),
      () => index.resetSortableAttributes(),
    ),
    setting(
      'rules',
      () => index.getRankingRules(),
      undefined,
      ['typo', 'year:desc'],
      (v) => index.updateRankingRules(v),
      () => index.resetRankingRules(),
    ),
    setting(
      'stop words',
      () => index.getStopWords(),
      [],
      ['the'],
      (v) => index.updateStopWords(v),
      () => index.resetStopWords(),
    ),
    setting(
      'separators',
      () => index.getSeparatorTokens(),
      [],
      ['|'],
      (v) => index.updateSeparatorTokens(v),
      () => index.resetSeparatorTokens(),
    ),
    setting(
      'non separators',
      () => index.getNonSeparatorTokens(),
      [],
      ['#'],
      (v) => index.updateNonSeparatorTokens(v),
      () => index.resetNonSeparatorTokens(),
    ),
    setting(
      'dictionary',
      () => index.getDictionary(),
      [],
      ['J. R.'],
      (v) => index.updateDictionary(v),
      () => index.resetDictionary(),
    ),
    setting(
      'synonyms',
      () => index.getSynonyms(),
      {},
      { car: ['auto'] },
      (v) => index.updateSynonyms(v),
      () => index.resetSynonyms(),
    ),
    setting(
      'distinct',
      () => index.getDistinctAttribute(),
      null,
      'sku',
      (v) => index.updateDistinctAttribute(v),
      () => index.resetDistinctAttribute(),
    ),
    setting(
      'proximity',
      () => index.getProximityPrecision(),
      'byWord',
      'byAttribute' as const,
      (v) => index.updateProximityPrecision(v),
      () => index.resetProximityPrecision(),
    ),
    setting(
      'pagination',
      () => index.getPagination(),
      { maxTotalHits: 1000 },
      { maxTotalHits: 9 },
      (v) => index.updatePagination(v),
      () => index.resetPagination(),
    ),
    setting(
      'faceting',
      () => index.getFaceting(),
      { maxValuesPerFacet: 100, sortFacetValuesBy: { '*': 'alpha' } },
      { maxValuesPerFacet: 5, sortFacetValuesBy: { '*': 'count' as const } },
      (v) => index.updateFaceting(v),
      () => index.resetFaceting(),
    ),
    setting(
      'typos',
      () => index.getTypoTolerance(),
      undefined,
      {
        enabled: false,
        minWordSizeForTypos: { oneTypo: 4, twoTypos: 8 },
        disableOnWords: ['x'],
        disableOnAttributes: ['y'],
        disableOnNumbers: true,
      },
      (v) => index.updateTypoTolerance(v),
      () => index.resetTypoTolerance(),
    ),
    setting(
      'embedders',
      () => index.getEmbedders(),
      {},
      { own: { source: 'userProvided' as const, dimensions: 2 } },
      (v) => index.updateEmbedders(v),
      () => index.resetEmbedders(),
    ),
    setting(
      'cutoff',
      () => index.getSearchCutoffMs(),
      null,
      50,
      (v) => index.updateSearchCutoffMs(v),
      () => index.resetSearchCutoffMs(),
    ),
    setting(
      'locales',
      () => index.getLocalizedAttributes(),
      null,
      [{ attributePatterns: ['*'], locales: ['jpn' as const] }],
      (v) => index.updateLocalizedAttributes(v),
      () => index.resetLocalizedAttributes(),
    ),
    setting(
      'foreign keys',
      () => index.getForeignKeys(),
      [],
      [{ foreignIndexUid: 'a', fieldName: 'b' }],
      (v) => index.updateForeignKeys(v),
      () => index.resetForeignKeys(),
    ),
    setting(
      'facet search',
      () => index.getFacetSearch(),
      true,
      false,
      (v) => index.updateFacetSearch(v),
      () => index.resetFacetSearch(),
    ),
    setting(
      'prefix search',
      () => index.getPrefixSearch(),
      'indexingTime',
      'disabled' as const,
      (v) => index.updatePrefixSearch(v),
      () => index.resetPrefixSearch(),
    ),
  ]
  for (const [name, get, initial, change, changed, reset] of settings) {
    const before = await get()
    if (initial !== undefined) t.deepEqual(before, initial, name)
    const task = await change().waitTask()
    t.deepEqual(
      [task.status, task.type],
      ['succeeded', 'settingsUpdate'],
      `${name}: ${JSON.stringify(task.error)}`,
    )
    t.deepEqual(await get(), changed, name)
    t.is((await reset().waitTask()).status, 'succeeded', name)
    t.deepEqual(await get(), before, name)
  }
  const whole = await index.getSettings()
  t.is(Object.keys(whole).length, 22)
  await index.updateSettings({ stopWords: ['a'], pagination: { maxTotalHits: 3 } }).waitTask()
  t.deepEqual((await index.getSettings()).stopWords, ['a'])
  await index.resetSettings().waitTask()
  t.deepEqual(await index.getSettings(), whole)
  await index.updateChat({ description: 'films' }).waitTask()
  t.is((await index.getChat()).description, 'films')
  await refused(t, index.updateRankingRules(['nope']), 'invalid_settings_ranking_rules')
  await refused(t, index.updatePagination({ maxTotalHits: 0 }), 'invalid_settings_pagination')
  await refused(t, client.index('ghost').getSettings(), 'index_not_found', 404)
})

function setting<T>(
  name: string,
  get: Getter,
  initial: unknown,
  value: T,
  change: (value: T) => Change,
  reset: () => Change,
): readonly [string, Getter, unknown, () => Change, unknown, () => Change] {
  return [name, get, initial, () => change(value), value, reset]
}
