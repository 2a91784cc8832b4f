import { setImmediate as turn } from 'node:timers/promises'
import test from 'ava'
import {
  type Destination,
  type Mapping,
  type ProgressStore,
  runSync,
  type Source,
  syncConfig,
  syncFigures,
} from '../../ts/transfer/sync/index.js'

// Rules:
// 1. A session that fails ends its writes before the next begins. A late write could replace a newer document.
// 2. Progress is stored once at a time, so that no older one replaces a newer one.
// 3. An interrupted copy continues, unless its index was removed.

const config = syncConfig(
  {
    source: { url: 'postgres://localhost/none' },
    target: { url: 'http://localhost:1' },
    index: [
      { uid: 'failing', table: 'failing' },
      { uid: 'writing', table: 'writing' },
    ],
  },
  'sync.json',
)

const lost = (): never => {
  throw Object.assign(new Error('lost'), { name: 'SourceError', isTransient: true })
}
const document = { key: ['1'], json: '{}' }
const changed = { isTruncated: false, recopy: null, keys: [['1']] }
const ready = { state: 'ready', fingerprint: 'f' }

const source: Partial<Source> = {
  identity: async () => 'db',
  prepare: async () => ({
    ok: true,
    facts: { primaryKey: 'id', keyColumns: 1, estimatedRows: 0, hasNumberId: true, fingerprint: 'f' },
  }),
  openSlot: async () => ({ confirmed: '0/1', isNew: false }),
  slotFacts: async () => null,
  settled: async () => undefined,
  compare: () => 0,
  confirm: async () => undefined,
}

/** An instance without documents. */
const emptyTarget = {
  forAllIndexes: async () => undefined,
  deleteIndex: async () => undefined,
  ensureIndex: async () => undefined,
  documents: async (): Promise<number | null> => 0,
  deadLetters: 0,
}

/** A store that holds the progress of these indexes. */
const storeOf = (mappings: object) => ({
  create: async () => undefined,
  requests: async () => ({ isPaused: false, resync: [] }),
  load: async () => ({ source: 'db', position: '0/1', mappings, savedAt: '' }),
  save: async () => undefined,
})

const cases: readonly {
  readonly name: string
  readonly source: Partial<Source>
  /** Progress of the indexes before. */
  readonly mappings: object
}[] = [
  {
    name: 'changes of one index cannot be read while those of another are written',
    source: {
      read: async (uid) => (uid === 'failing' ? lost() : [document]),
      async *changes() {
        const changes = new Map(config.mappings.map(({ uid }: Mapping) => [uid, changed]))
        yield { changes, position: '0/2', rows: 2, committedMs: null }
      },
    },
    mappings: { failing: ready, writing: ready },
  },
  {
    name: 'a page cannot be read while an earlier one is indexed',
    source: {
      page: async (_uid, after) => (after === null ? { documents: [document], last: ['1'] } : lost()),
    },
    mappings: { writing: ready },
  },
]

for (const { name, source: own, mappings } of cases)
  test(`a session ends its writes before it fails: ${name}`, async (t) => {
    const events: string[] = []
    const stop = new AbortController()
    const written = async (): Promise<void> => {
      for (let turns = 0; turns < 20; turns++) await turn()
      events.push('written')
    }
    const target = { ...emptyTarget, put: written, upload: async () => written }
    const store = storeOf(mappings)
    await runSync({
      config,
      source: { ...source, ...own } as Source,
      target: target as unknown as Destination,
      store: store as unknown as ProgressStore,
      figures: await syncFigures(),
      signal: stop.signal,
      log(line) {
        if (!line.endsWith('trying again')) return
        events.push(line)
        stop.abort()
      },
      copied: () => undefined,
    })
    t.deepEqual(events, ['written', 'lost; trying again'])
  })

const continuations = [
  { name: 'continues in its index', into: 'writing', documents: 5, first: ['5'] },
  { name: 'continues in a new index', into: 'writing_siftd_copy', documents: 5, first: ['5'] },
  { name: 'starts again without its index', into: 'writing', documents: null, first: null },
  { name: 'starts again without its new index', into: 'writing_siftd_copy', documents: null, first: null },
] as const

for (const { name, into, documents, first } of continuations)
  test(`an interrupted copy ${name}`, async (t) => {
    const stop = new AbortController()
    const asked: unknown[] = []
    const copying = { state: 'copying', fingerprint: 'f', into, after: ['5'], rows: 5 }
    const target = { ...emptyTarget, documents: async (uid: string) => (uid === into ? documents : 0) }
    const store = storeOf({ failing: ready, writing: copying })
    const page: Source['page'] = async (_uid, after) => {
      asked.push(after)
      return lost()
    }
    await runSync({
      config,
      source: { ...source, page } as Source,
      target: target as unknown as Destination,
      store: store as unknown as ProgressStore,
      figures: await syncFigures(),
      signal: stop.signal,
      log: (line) => void (line.endsWith('trying again') && stop.abort()),
      copied: () => undefined,
    })
    t.deepEqual(asked, [first])
  })

const services = { plain: { source: 'tei', url: 'http://a' }, keyed: { source: 'jina', apiKey: 'seXXXX...' } }
const settings: readonly { readonly name: string; readonly settings: object; readonly isInPlace: boolean }[] =
  [
    {
      name: 'without secrets',
      settings: { stopWords: ['apiKey'], rerankers: { a: services.plain } },
      isInPlace: false,
    },
    {
      name: 'with an embedder that has a key',
      settings: { embedders: { a: services.keyed } },
      isInPlace: true,
    },
    {
      name: 'with a reranker that has a key',
      settings: { embedders: {}, rerankers: services },
      isInPlace: true,
    },
  ]

for (const { name, settings: shown, isInPlace } of settings)
  test(`an index ${name} is copied ${isInPlace ? 'in place' : 'into a new index'}`, async (t) => {
    const stop = new AbortController()
    const put: unknown[] = []
    const written: string[] = []
    const target = {
      ...emptyTarget,
      documents: async () => 5,
      settings: async () => shown,
      putSettings: async (uid: string, sent: object) => void put.push([uid, sent]),
      async upload(uid: string) {
        written.push(uid)
        return lost()
      },
    }
    await runSync({
      config,
      source: { ...source, page: async () => ({ documents: [document], last: null }) } as Source,
      target: target as unknown as Destination,
      store: storeOf({ failing: ready }) as unknown as ProgressStore,
      figures: await syncFigures(),
      signal: stop.signal,
      log: (line) => void (line.endsWith('trying again') && stop.abort()),
      copied: () => undefined,
    })
    t.deepEqual(written, [isInPlace ? 'writing' : 'writing_siftd_copy'])
    t.deepEqual(put, isInPlace ? [] : [['writing_siftd_copy', shown]])
  })

test('two indexes that are copied at once store their progress one after the other', async (t) => {
  const stop = new AbortController()
  let [saving, savingMax, copied] = [0, 0, 0]
  const target = { ...emptyTarget, upload: async () => async () => undefined }
  const store = {
    ...storeOf({ failing: ready, writing: ready }),
    async save() {
      savingMax = Math.max(savingMax, ++saving)
      for (let turns = 0; turns < 5; turns++) await turn()
      saving--
    },
  }
  const recopied = { isTruncated: false, recopy: 'a related table was truncated', keys: [] }
  const own: Partial<Source> = {
    page: async () => ({ documents: [], last: null }),
    async *changes() {
      const changes = new Map(config.mappings.map(({ uid }: Mapping) => [uid, recopied]))
      yield { changes, position: '0/2', rows: 2, committedMs: null }
    },
  }
  await runSync({
    config,
    source: { ...source, ...own } as Source,
    target: target as unknown as Destination,
    store: store as unknown as ProgressStore,
    figures: await syncFigures(),
    signal: stop.signal,
    log: (line) => void (line.endsWith(': copied') && ++copied === 2 && stop.abort()),
    copied: () => undefined,
  })
  t.deepEqual([copied, savingMax], [2, 1])
})
