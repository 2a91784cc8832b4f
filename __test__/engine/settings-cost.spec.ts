/** Cost of settings changes in the fallback, in documents read. */
import test from 'ava'
import {
  emptyIndex,
  type IndexData,
  type StoredDocument,
} from '../../ts/engine/fallback/index-data/index-data.js'
import { applyPlan } from '../../ts/engine/fallback/indexing/apply.js'
import { Pacer } from '../../ts/engine/fallback/indexing/pacer.js'
import { planIndexes } from '../../ts/engine/fallback/indexing/plan.js'
import { planBatch } from '../../ts/engine/fallback/indexing/prepare.js'
import { defaultIndexSettings, type IndexSettings } from '../../ts/settings/index.js'

const DOCUMENTS = 20
const settings: IndexSettings = {
  ...defaultIndexSettings,
  searchableAttributes: ['title', 'text'],
  filterableAttributes: ['year'],
}

/** An index that counts reads of its documents. */
async function counting(): Promise<{ data: IndexData; reads: () => number }> {
  const data = emptyIndex(settings)
  const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({
    id,
    title: `t${id}`,
    text: 'x',
    year: id,
  }))
  const payload = { format: 'json', text: JSON.stringify(documents) } as const
  const put = { kind: 'documents', method: 'replace', primaryKey: 'id', skipCreation: false } as const
  const operations = [{ ...put, taskUid: 1, payload }]
  applyPlan(data, await planBatch(data, { uid: 1, indexUid: 'things', operations }, new Pacer()))
  let reads = 0
  for (const [docid, document] of data.documents.entries()) {
    const { id, source } = document!
    const counted: StoredDocument = {
      id,
      get source() {
        reads++
        return source
      },
    }
    data.documents[docid] = counted
  }
  return { data, reads: () => reads }
}

const free: Readonly<Record<string, Partial<IndexSettings>>> = {
  'ranking rules': { rankingRules: ['words', 'exactness'] },
  'displayed attributes': { displayedAttributes: ['title'] },
  synonyms: { synonyms: { film: ['movie'] } },
  'typo tolerance': { typoTolerance: { ...settings.typoTolerance, enabled: false } },
  faceting: { faceting: { ...settings.faceting, maxValuesPerFacet: 7 } },
  pagination: { pagination: { maxTotalHits: 7 } },
  'the cutoff': { searchCutoffMs: 7 },
  'prefix search': { prefixSearch: 'disabled' },
  'weights of attributes': { attributeWeights: { title: 2 } },
  'the matching strategy': { matchingStrategy: 'any' },
  'languages of word forms': { stemming: ['eng'] },
  'languages of compounds': { compounds: ['deu'] },
  pinyin: { pinyin: true },
  'lists of stop words': { stopWordLists: ['eng'] },
  'another order of searchable attributes': { searchableAttributes: ['text', 'title'] },
}

for (const [name, change] of Object.entries(free))
  test(`changing a setting reads no document: ${name}`, async (t) => {
    const { data, reads } = await counting()
    const changed = {
      settings: { ...settings, ...change },
      dictionaries: {},
      cleared: false,
      changes: new Map(),
    }
    t.false((await planIndexes(data, changed, new Pacer())).rebuilt)
    t.is(reads(), 0)
  })

test('a new filterable attribute reads each document once and tokenizes no text', async (t) => {
  const { data, reads } = await counting()
  const wider = { ...settings, filterableAttributes: ['year', 'title'] }
  const plan = await planIndexes(
    data,
    { settings: wider, dictionaries: {}, cleared: false, changes: new Map() },
    new Pacer(),
  )
  t.is(reads(), DOCUMENTS)
  t.is(plan.columns.kind, 'rebuilt')
  t.is(plan.text.kind, 'changed')
  t.is(plan.text.kind === 'changed' ? plan.text.lists.size : -1, 0)
})

test('a setting that affects tokenizing reads each document once and rebuilds no column', async (t) => {
  const { data, reads } = await counting()
  const stopping = { ...settings, stopWords: ['x'] }
  const plan = await planIndexes(
    data,
    { settings: stopping, dictionaries: {}, cleared: false, changes: new Map() },
    new Pacer(),
  )
  t.is(reads(), DOCUMENTS)
  t.is(plan.text.kind, 'rebuilt')
  t.is(plan.columns.kind, 'changed')
})
