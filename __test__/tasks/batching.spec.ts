import test from 'ava'
import type { QueuedTask } from '../../ts/tasks/batching.js'
import { type BatchLimits, type IndexFacts, nextBatch } from '../../ts/tasks/batching.js'
import type { TaskContent, TaskType } from '../../ts/tasks/index.js'

const roomy: BatchLimits = { tasksMax: 1000, payloadBytesMax: 1_000_000, contentBytesMax: 1_000_000 }

type Spec = Partial<Omit<QueuedTask, 'uid' | 'kind'>> & { readonly kind: TaskContent['kind'] }

const on = (indexUid: string | null, kind: TaskContent['kind'], more: Partial<Spec> = {}): Spec => ({
  indexUid,
  kind,
  ...more,
})
const add = (indexUid = 'a', more: Partial<Spec> = {}) =>
  on(indexUid, 'documents', { mayCreateIndex: true, payloadBytes: 10, ...more })
const ids = (indexUid = 'a') => on(indexUid, 'deleteByIds')
const filter = (indexUid = 'a') => on(indexUid, 'deleteByFilter')
const clear = (indexUid = 'a') => on(indexUid, 'clear')
const settings = (indexUid = 'a') => on(indexUid, 'settings', { mayCreateIndex: true })
const drop = (indexUid = 'a') => on(indexUid, 'indexDeletion')
const create = (indexUid = 'a') => on(indexUid, 'indexCreation')
const update = (indexUid = 'a') => on(indexUid, 'indexUpdate')
const swap = (...touches: string[]) => on(null, 'indexSwap', { touches })

const types: Partial<Readonly<Record<TaskContent['kind'], TaskType>>> = {
  documents: 'documentAdditionOrUpdate',
  settings: 'settingsUpdate',
  deleteByIds: 'documentDeletion',
  deleteByFilter: 'documentDeletion',
  clear: 'documentDeletion',
}

function queued(specs: readonly Spec[]): QueuedTask[] {
  return specs.map((spec, uid) => ({
    indexUid: 'a',
    type: types[spec.kind] ?? (spec.kind as TaskType),
    payloadBytes: 0,
    contentBytes: 100,
    primaryKey: null,
    mayCreateIndex: false,
    touches: [],
    ...spec,
    uid,
  }))
}

/** Returns the uids of each batch until the queue is empty. Indexes are created and deleted as the tasks demand. */
function batches(specs: readonly Spec[], existing: IndexFacts, limits: BatchLimits): number[][] {
  const indexes = new Map(existing)
  let queue = queued(specs)
  const done: number[][] = []
  for (
    let batch = nextBatch(queue, indexes, limits);
    batch !== null;
    batch = nextBatch(queue, indexes, limits)
  ) {
    const uids = new Set(batch.tasks.map(({ uid }) => uid))
    done.push([...uids])
    for (const { kind, indexUid, mayCreateIndex } of batch.tasks) {
      if (indexUid === null) continue
      if (kind === 'indexDeletion') indexes.delete(indexUid)
      else if (mayCreateIndex && !indexes.has(indexUid)) indexes.set(indexUid, { primaryKey: null })
    }
    queue = queue.filter(({ uid }) => !uids.has(uid))
  }
  return done
}

const keyed = (primaryKey: string | null): IndexFacts => new Map([['a', { primaryKey }]])
const nothing: IndexFacts = new Map()

const cases: readonly {
  readonly claim: string
  readonly queue: readonly Spec[]
  readonly indexes?: IndexFacts
  readonly limits?: Partial<BatchLimits>
  readonly batches: readonly (readonly number[])[]
}[] = [
  {
    claim: 'additions to one index share a batch even if an addition to another index is between them',
    queue: [add('a'), add('a'), add('b'), add('a')],
    batches: [[0, 1, 3], [2]],
  },
  {
    claim: 'settings between additions separate them',
    queue: [add(), settings(), add()],
    batches: [[0], [1], [2]],
  },
  {
    claim: 'settings and a clear share a batch',
    queue: [settings(), settings(), clear()],
    batches: [[0, 1, 2]],
  },
  {
    claim: 'an addition joins a deletion by filter, but not the other way round',
    queue: [filter(), add(), filter()],
    indexes: keyed('id'),
    batches: [[0, 1], [2]],
  },
  {
    claim: 'an addition that names another key than the index has runs alone',
    queue: [add('a', { primaryKey: 'sku' }), add('a', { primaryKey: 'code' })],
    indexes: keyed('code'),
    batches: [[0], [1]],
  },
  {
    claim: 'a batch stops before an addition that names another key than the index has',
    queue: [add('a', { primaryKey: 'code' }), add('a', { primaryKey: 'sku' })],
    indexes: keyed('code'),
    batches: [[0], [1]],
  },
  {
    claim: 'naming the same key as the index is no conflict',
    queue: [add(), add('a', { primaryKey: 'code' }), add()],
    indexes: keyed('code'),
    batches: [[0, 1, 2]],
  },
  {
    claim: 'without a key, an addition that infers it stops before one that names it',
    queue: [add(), add('a', { primaryKey: 'code' })],
    batches: [[0], [1]],
  },
  {
    claim: 'without a key, an addition that names it may be followed by one that does not',
    queue: [add('a', { primaryKey: 'code' }), add()],
    batches: [[0, 1]],
  },
  {
    claim: 'two additions that name different keys are separated',
    queue: [add('a', { primaryKey: 'code' }), add(), add('a', { primaryKey: 'sku' })],
    batches: [[0, 1], [2]],
  },
  {
    claim: 'an index deletion shares a batch with the additions before it, but not with those after it',
    queue: [add(), add(), drop(), add()],
    batches: [[0, 1, 2], [3]],
  },
  {
    claim: 'an index deletion at the front runs alone',
    queue: [drop(), add()],
    indexes: keyed('id'),
    batches: [[0], [1]],
  },
  {
    claim: 'five additions with a limit of two run in three batches',
    queue: [add(), add(), add(), add(), add()],
    limits: { tasksMax: 2 },
    batches: [[0, 1], [2, 3], [4]],
  },
  {
    claim: 'a batch has a size limit, but its first task may exceed it',
    queue: [
      add('a', { payloadBytes: 99 }),
      add('a', { payloadBytes: 4 }),
      add('a', { payloadBytes: 6 }),
      add(),
    ],
    limits: { payloadBytesMax: 10 },
    batches: [[0], [1, 2], [3]],
  },
  {
    claim: 'a limit of zero tasks stops the queue',
    queue: [add(), on(null, 'taskCancelation')],
    limits: { tasksMax: 0 },
    batches: [],
  },
  {
    claim: 'deletions stop before an addition that would create their index',
    queue: [ids(), add()],
    indexes: nothing,
    batches: [[0], [1]],
  },
  {
    claim: 'deletions of a missing index join additions that may not create it',
    queue: [ids(), add('a', { mayCreateIndex: false })],
    indexes: nothing,
    batches: [[0, 1]],
  },
  {
    claim: 'additions that may not create the index stop before one that may',
    queue: [add('a', { mayCreateIndex: false }), add()],
    indexes: nothing,
    batches: [[0], [1]],
  },
  {
    claim: 'a swap is a barrier for its two indexes and for no others',
    queue: [add('a'), add('c'), swap('a', 'b'), add('a'), add('b'), add('c')],
    batches: [[0], [1, 5], [2], [3], [4]],
  },
  {
    claim: 'a rename is a barrier for its new name too',
    queue: [add('b'), on('a', 'indexUpdate', { touches: ['b'] }), add('b')],
    batches: [[0], [1], [2]],
  },
  {
    claim: 'creations and updates never share a batch',
    queue: [create(), create(), update(), add(), update(), add()],
    batches: [[0], [1], [2], [3], [4], [5]],
  },
  {
    claim: 'the newest cancelation runs first and alone, then deletions together, then the rest in order',
    queue: [
      add(),
      on(null, 'dumpCreation'),
      on(null, 'snapshotCreation'),
      on('a', 'indexCompaction'),
      on(null, 'taskDeletion'),
      on(null, 'taskCancelation'),
      on(null, 'taskCancelation'),
      on(null, 'taskDeletion'),
      on(null, 'snapshotCreation'),
      on('b', 'indexCompaction'),
      on(null, 'dumpCreation'),
    ],
    batches: [[6], [5], [4, 7], [3], [9], [2, 8], [1], [10], [0]],
  },
]

for (const { claim, queue, indexes, limits, batches: expected } of cases) {
  test(claim, (t) => {
    t.deepEqual(batches(queue, indexes ?? nothing, { ...roomy, ...limits }), expected)
  })
}

// Rows: the batch so far. Columns: addition, deletion by ids, by filter, clear, settings, index deletion.
const table: readonly (readonly [string, readonly Spec[], string])[] = [
  ['additions', [add()], 'yes yes no yes no yes'],
  ['deletions by ids', [ids()], 'yes yes yes yes no yes'],
  ['deletions by filter', [filter()], 'yes yes yes yes no yes'],
  ['deletions and an addition', [ids(), add()], 'yes yes no yes no yes'],
  ['clear', [clear()], 'no yes yes yes no yes'],
  ['additions and a clear', [add(), clear()], 'no yes yes yes no yes'],
  ['settings', [settings()], 'no no no yes yes yes'],
  ['clear and settings', [settings(), clear()], 'no yes yes yes yes yes'],
]
const columns = [add(), ids(), filter(), clear(), settings(), drop()]

for (const [row, gathered, verdicts] of table) {
  for (const [column, verdict] of verdicts.split(' ').entries()) {
    const next = columns[column]
    if (next === undefined) continue
    test(`${row}: ${next.kind} ${verdict === 'yes' ? 'joins' : 'waits'}`, (t) => {
      const batch = nextBatch(queued([...gathered, next]), keyed('id'), roomy)
      t.is(batch?.tasks.length, gathered.length + (verdict === 'yes' ? 1 : 0))
    })
  }
}

test('a batch explains why it ends', (t) => {
  const why = (specs: readonly Spec[], limits: Partial<BatchLimits> = {}) =>
    nextBatch(queued(specs), keyed('id'), { ...roomy, ...limits })?.why ?? ''
  t.regex(why([add(), add(), add()], { tasksMax: 2 }), /limit of 2 tasks/)
  t.regex(why([add(), add()], { payloadBytesMax: 15 }), /limit of 15 bytes.*20/)
  const long = on('a', 'deleteByIds', { contentBytes: 20 })
  t.regex(why([long, long, long], { contentBytesMax: 50 }), /limit of 50 bytes.*task 2.*60/)
  t.regex(why([long], { contentBytesMax: 15 }), /all enqueued tasks/)
  t.regex(why([add(), settings()]), /before task 1/)
  t.regex(why([add(), drop(), add()]), /after task 1/)
  t.regex(why([create(), add()]), /task 0 of type `indexCreation`/)
  t.regex(why([add()]), /all enqueued tasks of the index `a`/)
})
