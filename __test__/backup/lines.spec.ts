import test, { type ExecutionContext } from 'ava'
import { pageOf } from '../../ts/engine/document-pages.js'
import { withoutRegeneration } from '../../ts/instance/backup/fragments.js'
import { batchOf, taskOf } from '../../ts/instance/backup/read-tasks.js'
import { decodeRoaring, encodeRoaring } from '../../ts/instance/backup/roaring.js'
import { batchLine, taskLine } from '../../ts/instance/backup/task-lines.js'
import type { DumpedTask, Task, TaskContent, TaskType } from '../../ts/tasks/index.js'
import fc from '../support/property.js'

test('a set of numbers survives writing and reading', (t) => {
  const numbers = fc.uniqueArray(fc.oneof(fc.nat(70_000), fc.nat(0xffff_ffff)), { maxLength: 200 })
  const sets = fc.tuple(numbers, fc.nat(0xffff), fc.nat(9_000)).map(([some, first, length]) => {
    const dense = Array.from({ length }, (_, at) => first + at)
    return [...new Set([...some, ...dense])].sort((a, b) => a - b)
  })
  fc.assert(
    fc.property(sets, (set) => t.deepEqual(decodeRoaring(encodeRoaring(set)), set)),
    { numRuns: 50 },
  )
})

test('sets of other writers are read, including runs', (t) => {
  t.deepEqual([...encodeRoaring([7, 9])], [58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 7, 0, 9, 0])
  // A container of runs: 10 to 12, and 20.
  const runs = [59, 48, 0, 0, 1, 0, 0, 3, 0, 2, 0, 10, 0, 2, 0, 20, 0, 0, 0]
  t.deepEqual(decodeRoaring(Buffer.from(runs)), [10, 11, 12, 20])
})

test('bytes that are not a set of numbers are refused', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        decodeRoaring(Buffer.from(bytes))
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
      }
    }),
  )
  t.throws(() => decodeRoaring(Buffer.alloc(16)), { instanceOf: RangeError })
})

test('a list is split into one line per document', (t) => {
  const document = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 })
  const listing = fc.record({
    documents: fc.array(document, { maxLength: 6 }),
    indent: fc.constantFrom(undefined, 1),
  })
  fc.assert(
    fc.property(listing, ({ documents, indent }) => {
      const results = documents.map((one) => JSON.stringify(one, undefined, indent)).join(',')
      const page = pageOf(Buffer.from(`{"results":[${results}],"offset":0,"limit":6,"total":99}`))
      const lines = page.lines.toString().split('\n').slice(0, -1)
      t.deepEqual(
        lines.map((line) => JSON.parse(line)),
        JSON.parse(JSON.stringify(documents)),
      )
      t.deepEqual([page.documents, page.total], [documents.length, 99])
    }),
  )
})

test('exported vectors of fragments are marked against regeneration, others are unchanged', (t) => {
  const entry = { embeddings: [[1.0, 2]], regenerate: true }
  const document = { id: 1, regenerate: true, _vectors: { shown: entry, other: entry } }
  const lines = withoutRegeneration(
    Buffer.from(`${JSON.stringify(document)}\n{"id":2}\n`),
    new Set(['shown']),
  )
  const expected = { ...document, _vectors: { shown: { ...entry, regenerate: false }, other: entry } }
  t.is(lines.toString(), `${JSON.stringify(expected)}\n{"id":2}\n`)
})

const at = '2030-01-02T03:04:05.678901Z'
const ended = (type: TaskType, details: Task['details'], some: Partial<Task> = {}): DumpedTask => ({
  task: {
    uid: 3,
    batchUid: 2,
    indexUid: 'plants',
    status: 'succeeded',
    type,
    canceledBy: null,
    ...(details !== undefined && { details }),
    error: null,
    duration: null,
    enqueuedAt: at,
    startedAt: at,
    finishedAt: at,
    ...some,
  },
  newIndexUid: null,
  content: null,
  foreign: null,
})

const error = {
  message: 'no',
  code: 'index_not_found',
  type: 'invalid_request',
  link: 'https://x.test/#y',
} as const

const past: Readonly<Record<string, DumpedTask>> = {
  'an addition': ended('documentAdditionOrUpdate', { receivedDocuments: 2, indexedDocuments: 1 }),
  'a failed addition': ended(
    'documentAdditionOrUpdate',
    { receivedDocuments: 2, indexedDocuments: 0 },
    { status: 'failed', error },
  ),
  'a canceled addition': ended(
    'documentAdditionOrUpdate',
    { receivedDocuments: 2, indexedDocuments: 0 },
    { status: 'canceled', canceledBy: 9 },
  ),
  'an addition with metadata': ended(
    'documentAdditionOrUpdate',
    { receivedDocuments: 1, indexedDocuments: 1 },
    { customMetadata: 'kept' },
  ),
  'a deletion by ids': ended('documentDeletion', {
    providedIds: 2,
    deletedDocuments: 1,
    originalFilter: null,
  }),
  'a deletion by filter': ended('documentDeletion', {
    providedIds: 0,
    deletedDocuments: 1,
    originalFilter: '"a = 1"',
  }),
  'a clear': ended('documentDeletion', { deletedDocuments: 4 }),
  'an edit': ended('documentEdition', {
    editedDocuments: 1,
    deletedDocuments: 1,
    originalFilter: null,
    context: { a: 1 },
    function: 'doc.a = 1',
  }),
  'a change of settings': ended('settingsUpdate', {
    stopWords: ['the'],
    typoTolerance: { minWordSizeForTypos: { oneTypo: 4 } },
  }),
  'an index creation': ended('indexCreation', { primaryKey: null }),
  'an index deletion': ended('indexDeletion', { deletedDocuments: 7 }),
  'an index update': ended('indexUpdate', { primaryKey: 'id' }),
  'a rename': {
    ...ended('indexUpdate', { primaryKey: null, oldIndexUid: 'plants', newIndexUid: 'herbs' }),
    newIndexUid: 'herbs',
  },
  'a swap': ended('indexSwap', { swaps: [{ indexes: ['a', 'b'], rename: true }] }, { indexUid: null }),
  'a cancelation': ended(
    'taskCancelation',
    { matchedTasks: 3, canceledTasks: 2, originalFilter: '?uids=1' },
    { indexUid: null },
  ),
  'a task deletion': ended(
    'taskDeletion',
    { matchedTasks: 3, deletedTasks: 2, originalFilter: '?uids=1' },
    { indexUid: null },
  ),
  'a dump': ended('dumpCreation', { dumpUid: null }, { indexUid: null }),
  'a snapshot': ended('snapshotCreation', undefined, { indexUid: null }),
  'a compaction': ended('indexCompaction', { preCompactionSize: '1 KiB', postCompactionSize: '1 KiB' }),
  'an export': ended(
    'export',
    {
      url: 'http://x.test',
      indexes: { plants: { filter: null, overrideSettings: false, matched_documents: 2 } },
    },
    { indexUid: null },
  ),
  'a deletion by filter from another writer': ended('documentDeletion', {
    providedIds: 0,
    deletedDocuments: 1,
    originalFilter: 'a = 1',
  }),
  'a swap from another writer': ended('indexSwap', { swaps: 'gone' }, { indexUid: null }),
  'a rule change from another writer': ended(
    'dsrUpdate',
    { rule: { actions: 'gone' } },
    { indexUid: '.meili_dsr' },
  ),
  'an upgrade': ended('upgradeDatabase', { upgradeFrom: 'v1.1.0', upgradeTo: 'v1.2.0' }, { indexUid: null }),
  'a change of the network': ended('networkTopologyChange', { movedDocuments: 3 }, { indexUid: null }),
  'a rule': ended('dsrUpdate', { rule: { active: true }, updatedRules: 1 }, { indexUid: '.meili_dsr' }),
  'all rules gone': ended('dsrClear', { deletedDocuments: 2 }, { indexUid: '.meili_dsr' }),
}

const noUpload = () => Promise.reject(new Error('no upload was to be asked for'))

for (const [name, dumped] of Object.entries(past)) {
  test(`${name} survives a dump when finished`, async (t) => {
    t.deepEqual(await taskOf(JSON.parse(JSON.stringify(taskLine(dumped))), 'line', noUpload), dumped)
  })
}

const payload = { format: 'ndjson', text: '{"id":1}' } as const
const patch = { stopWords: ['a'], typoTolerance: { disableOnWords: ['b'] }, pagination: null }
const waiting: Readonly<Record<string, readonly [TaskType, TaskContent]>> = {
  'an addition': [
    'documentAdditionOrUpdate',
    {
      kind: 'documents',
      method: 'update',
      payload,
      payloadBytes: 8,
      receivedDocuments: 1,
      primaryKey: 'id',
      skipCreation: true,
      mayCreateIndex: false,
    },
  ],
  'a deletion by ids': ['documentDeletion', { kind: 'deleteByIds', ids: ['1', 'b'] }],
  'a deletion by filter': ['documentDeletion', { kind: 'deleteByFilter', filter: [['a = 1', 'b = 2']] }],
  'a clear': ['documentDeletion', { kind: 'clear' }],
  'an edit': [
    'documentEdition',
    { kind: 'edit', function: 'doc.a = 1', filter: 'a = 1', context: { x: [1] } },
  ],
  'a change of settings': [
    'settingsUpdate',
    {
      kind: 'settings',
      patch: JSON.stringify(patch),
      details: JSON.stringify({ ...patch, pagination: null }),
      isReset: false,
      mayCreateIndex: true,
    },
  ],
  'an index creation': ['indexCreation', { kind: 'indexCreation', primaryKey: 'id' }],
  'an index update': ['indexUpdate', { kind: 'indexUpdate', primaryKey: null, newUid: 'herbs' }],
  'an index deletion': ['indexDeletion', { kind: 'indexDeletion' }],
  'a swap': ['indexSwap', { kind: 'indexSwap', swaps: [{ indexes: ['a', 'b'], rename: false }] }],
  'a compaction': ['indexCompaction', { kind: 'indexCompaction' }],
  'a cancelation': ['taskCancelation', { kind: 'taskCancelation', query: '?uids=*', tasks: [0, 5, 70_000] }],
  'a task deletion': ['taskDeletion', { kind: 'taskDeletion', query: '?uids=1', tasks: [] }],
  'a dump': ['dumpCreation', { kind: 'dumpCreation' }],
  'a snapshot': ['snapshotCreation', { kind: 'snapshotCreation' }],
  'a rule': [
    'dsrUpdate',
    {
      kind: 'dsrUpdate',
      uid: 'one',
      patch: {
        active: null,
        description: 'd',
        actions: { pin: [{ id: '1', position: 0 }], scale: [{ weight: 0.5, filter: [['a = 1']] }] },
      },
    },
  ],
  'a rule gone': ['dsrUpdate', { kind: 'dsrUpdate', uid: 'one', patch: null }],
  'all rules gone': ['dsrClear', { kind: 'dsrClear' }],
  'an export': [
    'export',
    {
      kind: 'export',
      url: 'http://x.test',
      apiKey: 'k',
      payloadBytesMax: 20_000_000_000,
      indexes: [{ pattern: 'a*', filter: 'b = 1', overrideSettings: true }],
    },
  ],
}

for (const [name, [type, content]] of Object.entries(waiting)) {
  test(`${name} survives a dump with its content when waiting`, async (t) => {
    const dumped = {
      ...ended(type, undefined, { status: 'enqueued', batchUid: null, startedAt: null, finishedAt: null }),
      content,
    }
    const upload = async () => ({ payload, bytes: 8 })
    t.deepEqual(await taskOf(JSON.parse(JSON.stringify(taskLine(dumped))), 'line', upload), dumped)
  })
}

test('a change of a rule is a line that the reference reads: a finished dsrClear without details', (t) => {
  const [type, content] = waiting['a rule'] ?? [undefined, null]
  const dumped = [
    past['a rule']!,
    {
      ...ended(type!, undefined, { status: 'enqueued', batchUid: null, startedAt: null, finishedAt: null }),
      content,
    },
  ]
  const lines = dumped.map((one) => JSON.parse(JSON.stringify(taskLine(one))) as Record<string, unknown>)
  for (const [position, status] of ['succeeded', 'canceled'].entries()) {
    t.like(lines[position], { type: 'dsrClear', status, details: undefined })
    t.is(typeof lines[position]?.finishedAt, 'string')
  }
})

test('an export of another writer that waits has the size that its text tells', async (t) => {
  const fields = { url: 'http://x.test', api_key: null, indexes: {} }
  for (const [size, bytes] of [
    ['24 MiB', 24 * 2 ** 20],
    ['24MiB', 24 * 2 ** 20],
    [4096, 4096],
    [null, null],
  ] as const) {
    const type = { export: { ...fields, payload_size: size } }
    const line = { uid: 0, status: 'enqueued', type, enqueuedAt: at }
    const { content } = await taskOf(line, 'line', noUpload)
    t.like(content, { kind: 'export', payloadBytesMax: bytes })
  }
})

const embedderRequests = { total: 2, failed: 1, lastError: 'busy' }
const stats: readonly object[] = [
  { totalNbTasks: 1 },
  { totalNbTasks: 1, embedderRequests },
  { embedderRequests: 7 },
]

test('a batch survives writing and reading, whatever its stats', (t) => {
  for (const each of stats) checkBatch(t, each)
})

function checkBatch(t: ExecutionContext, stats: object): void {
  const batch = {
    uid: 2,
    progress: null,
    details: { a: 1 },
    stats: stats as Readonly<Record<string, unknown>>,
    duration: null,
    startedAt: at,
    finishedAt: at,
    batchStrategy: 'all of them',
  }
  const dumped = { batch, oldestEnqueuedAt: '2029-01-01T00:00:00Z', newestEnqueuedAt: at }
  t.deepEqual(batchOf(JSON.parse(JSON.stringify(batchLine(dumped))), 'line'), dumped)
}
