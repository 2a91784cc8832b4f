import type { TaskContent, TaskType } from './task.js'

/** The properties of an enqueued task that decide its batch. */
export interface QueuedTask {
  readonly uid: number
  readonly type: TaskType
  readonly kind: TaskContent['kind']
  readonly indexUid: string | null
  readonly payloadBytes: number
  /** Bytes of the stored content, such as ids, a filter or a short upload. */
  readonly contentBytes: number
  /** Named by the request; documents only. */
  readonly primaryKey: string | null
  readonly mayCreateIndex: boolean
  /** Other indexes that a swap or rename changes, in addition to `indexUid`. */
  readonly touches: readonly string[]
}

/** Bounds of one batch. */
export interface BatchLimits {
  /** 0 stops the queue: no batch is ever chosen. */
  readonly tasksMax: number
  /** Uploaded bytes of all tasks together. The first task is taken even if it is larger. */
  readonly payloadBytesMax: number
  /** Bytes of the stored contents of all tasks together. The first task is taken even if it is larger. */
  readonly contentBytesMax: number
}

/** The indexes that exist, by uid. */
export type IndexFacts = ReadonlyMap<string, { readonly primaryKey: string | null }>

/**
 * Selects the function that executes a batch. For index work, all tasks of the batch decide the kind: a batch with a
 * deletion of all documents is `clear` even if it has additions, and a batch that ends with the deletion of the index
 * is always `indexDeletion`.
 */
type BatchKind =
  | 'taskCancelation'
  | 'upgradeDatabase'
  | 'taskDeletion'
  | 'indexCompaction'
  | 'snapshotCreation'
  | 'dumpCreation'
  | 'indexCreation'
  | 'indexUpdate'
  | 'indexSwap'
  | 'dsrUpdate'
  | 'dsrClear'
  | 'export'
  | 'edit'
  | IndexWork

type IndexWork =
  | 'additions'
  | 'deletions'
  | 'deletionsByFilter'
  | 'clear'
  | 'settings'
  | 'clearAndSettings'
  | 'indexDeletion'

export interface PickedBatch {
  readonly kind: BatchKind
  /** In execution order. */
  readonly tasks: readonly QueuedTask[]
  /** The index that all tasks change; null for instance-wide work. */
  readonly indexUid: string | null
  /** Explains to humans why the batch ends where it does. */
  readonly why: string
}

/** Resources that running batches occupy. */
export interface Busy {
  /** Names in use by running batches; see `namesOf`. */
  readonly names: readonly string[]
  /** True if so many batches run that only cancelations and deletions of tasks may begin. */
  readonly isFull: boolean
  /** Uids of task deletions that must wait because they delete tasks of running batches. */
  readonly heldDeletions: readonly number[]
}

/** No batch is running. */
const IDLE: Busy = { names: [], isFull: false, heldDeletions: [] }

/** Shared name of tasks without an index: changes of dynamic search rules, and readers of the complete instance. */
const INSTANCE = ''
/** Shared name of all exports, so that they run one at a time. No index can have this name. */
const EXPORTS = '*'

/** Names the resources of a task. Tasks with a name in common run in the order of their uids. */
export function namesOf({
  kind,
  indexUid,
  touches,
}: Pick<QueuedTask, 'kind' | 'indexUid' | 'touches'>): readonly string[] {
  if (kind === 'export') return [EXPORTS]
  if (indexUid !== null) return [indexUid, ...touches]
  return touches.length > 0 ? touches : [INSTANCE]
}

/** Kinds that run before all others, regardless of age. */
const housekeepingKinds: ReadonlySet<TaskContent['kind']> = new Set([
  'taskCancelation',
  'upgradeDatabase',
  'taskDeletion',
  'indexCompaction',
  'export',
  'snapshotCreation',
  'dumpCreation',
])

/**
 * Chooses the tasks of the next commit. Returns null if none can begin.
 *
 * Housekeeping goes first: the newest cancelation alone, the oldest upgrade, all task deletions that need not wait, the
 * oldest compaction of a free index, the oldest export unless one is running, all snapshots together, the oldest dump.
 * Next comes the oldest task whose names are free and not needed by an older task (`firstFree`), together with tasks of
 * the same index that can share its commit. Tasks of one index therefore take effect in the order of their uids.
 *
 * @param queue enqueued tasks, ascending by uid. A caller may pass a part of the queue and gets the same result, if the
 * part has all housekeeping tasks, the tasks for `firstFree`, the first `tasksMax` + 1 tasks of the index chosen by
 * `firstFree`, and the first swap or rename of that index.
 */
export function nextBatch(
  queue: readonly QueuedTask[],
  indexes: IndexFacts,
  limits: BatchLimits,
  busy: Busy = IDLE,
): PickedBatch | null {
  if (limits.tasksMax === 0) return null
  const urgent = housekeeping(queue, busy)
  if (urgent !== null || busy.isFull) return urgent
  const first = firstFree(queue, busy.names)
  if (first === null) return null
  const rest = queue.filter((task) => task.uid >= first.uid && !housekeepingKinds.has(task.kind))
  return indexWork(rest, indexes, limits)
}

/**
 * Returns the oldest task with free names, ignoring housekeeping; null if none exists.
 * @param queue ascending by uid. The result is the same if it only has the oldest task of each index, the oldest task
 * without an index, and all tasks with more than one name.
 * @param busy names in use by running batches
 */
export function firstFree(queue: readonly QueuedTask[], busy: readonly string[]): QueuedTask | null {
  const taken = new Set(busy)
  for (const task of queue) {
    if (housekeepingKinds.has(task.kind)) continue
    const names = namesOf(task)
    if (!names.some((name) => taken.has(name))) return task
    for (const name of names) taken.add(name)
  }
  return null
}

function housekeeping(queue: readonly QueuedTask[], busy: Busy): PickedBatch | null {
  const cancelation = queue.findLast(({ kind }) => kind === 'taskCancelation')
  if (cancelation !== undefined) return alone('taskCancelation', cancelation)
  const upgrade = queue.find(({ kind }) => kind === 'upgradeDatabase')
  if (upgrade !== undefined) return alone('upgradeDatabase', upgrade)
  const deletions = queue.filter(
    ({ kind, uid }) => kind === 'taskDeletion' && !busy.heldDeletions.includes(uid),
  )
  if (deletions.length > 0) return together('taskDeletion', deletions)
  if (busy.isFull) return null
  const isFree = (task: QueuedTask) => namesOf(task).every((name) => !busy.names.includes(name))
  const compaction = queue.find((task) => task.kind === 'indexCompaction' && isFree(task))
  if (compaction !== undefined) return alone('indexCompaction', compaction)
  const exported = queue.find((task) => task.kind === 'export' && isFree(task))
  if (exported !== undefined) return alone('export', exported)
  if (busy.names.includes(INSTANCE)) return null
  const snapshots = queue.filter(({ kind }) => kind === 'snapshotCreation')
  if (snapshots.length > 0) return together('snapshotCreation', snapshots)
  const dump = queue.find(({ kind }) => kind === 'dumpCreation')
  return dump === undefined ? null : alone('dumpCreation', dump)
}

function indexWork(
  queue: readonly QueuedTask[],
  indexes: IndexFacts,
  limits: BatchLimits,
): PickedBatch | null {
  const first = queue[0]
  if (first === undefined) return null
  const started = startOf(first)
  if (started === null) return alone(first.kind as BatchKind, first)

  const { indexUid } = first
  const facts = indexUid === null ? undefined : indexes.get(indexUid)
  const gathered: Gathered = {
    kind: started,
    tasks: [first],
    payloadBytes: first.payloadBytes,
    contentBytes: first.contentBytes,
    mayCreateIndex: first.kind === 'documents' ? first.mayCreateIndex : null,
    primaryKey: first.kind === 'documents' ? first.primaryKey : undefined,
  }
  const done = (why: string): PickedBatch => ({ kind: gathered.kind, tasks: gathered.tasks, indexUid, why })
  if (conflictsWithIndex(first, facts?.primaryKey ?? null)) {
    return done(`task ${first.uid} names another primary key than the index \`${indexUid}\` has`)
  }

  for (const task of queue.slice(1)) {
    if (gathered.kind === 'indexDeletion') break
    if (indexUid !== null && task.touches.includes(indexUid)) return done(neverBatched(task))
    if (task.indexUid !== indexUid) continue
    const joined = join(gathered, task, facts)
    if ('stop' in joined) return done(joined.stop)
    if (gathered.tasks.length >= limits.tasksMax) {
      return done(`reached the limit of ${limits.tasksMax} tasks in one batch`)
    }
    const payloadBytes = gathered.payloadBytes + task.payloadBytes
    if (payloadBytes > limits.payloadBytesMax) {
      return done(
        `reached the limit of ${limits.payloadBytesMax} bytes in one batch: task ${task.uid} would make it ${payloadBytes}`,
      )
    }
    const contentBytes = gathered.contentBytes + task.contentBytes
    if (contentBytes > limits.contentBytesMax) {
      return done(
        `reached the limit of ${limits.contentBytesMax} bytes of task contents in one batch: task ${task.uid} would make it ${contentBytes}`,
      )
    }
    gathered.kind = joined.kind
    gathered.tasks.push(task)
    gathered.payloadBytes = payloadBytes
    gathered.contentBytes = contentBytes
    if (task.kind === 'documents') {
      gathered.mayCreateIndex ??= task.mayCreateIndex
      gathered.primaryKey ??= task.primaryKey
    }
  }
  if (gathered.kind === 'indexDeletion') {
    return done(`stopped after task ${gathered.tasks.at(-1)?.uid}, which deletes the index \`${indexUid}\``)
  }
  return done(`took all enqueued tasks of the index \`${indexUid}\``)
}

/** A batch while tasks are added to it. */
interface Gathered {
  kind: IndexWork
  readonly tasks: QueuedTask[]
  payloadBytes: number
  contentBytes: number
  /** True if the first addition may create the index; null before the first addition. */
  mayCreateIndex: boolean | null
  /** Primary key named by the additions: undefined before the first addition, null if no addition names one. */
  primaryKey: string | null | undefined
}

/** Returns the kind of a batch that has only this task; null if the task never shares a batch. */
function startOf({ kind }: QueuedTask): IndexWork | null {
  switch (kind) {
    case 'documents':
      return 'additions'
    case 'deleteByIds':
      return 'deletions'
    case 'deleteByFilter':
      return 'deletionsByFilter'
    case 'clear':
    case 'settings':
    case 'indexDeletion':
      return kind
    default:
      return null
  }
}

type Joined = { readonly kind: IndexWork } | { readonly stop: string }

/**
 * Returns the kind of the batch after adding `task`, or the reason to end the batch before it. Source: the API's table
 * of tasks that may share a commit. Its rows are batches and its columns the next task.
 */
function join(batch: Gathered, task: QueuedTask, facts: { primaryKey: string | null } | undefined): Joined {
  const next = startOf(task)
  if (next === null) return { stop: neverBatched(task) }
  if (next === 'indexDeletion') return { kind: 'indexDeletion' }
  const apart = { stop: `stopped before task ${task.uid}: ${batch.kind} and ${next} do not share a commit` }
  switch (batch.kind) {
    case 'additions':
      if (next === 'additions') return addition(batch, task, facts)
      if (next === 'deletions') return { kind: 'additions' }
      return next === 'clear' ? { kind: 'clear' } : apart
    case 'deletions':
      if (next === 'additions') {
        // In one batch the addition would create the index first. The deletion would then not fail with
        // `index_not_found`, as it must.
        return facts === undefined && task.mayCreateIndex
          ? { stop: `stopped before task ${task.uid}, which may create the index; earlier ones may not` }
          : addition(batch, task, facts)
      }
      return next === 'settings' ? apart : { kind: next }
    case 'deletionsByFilter':
      if (next === 'additions') return addition(batch, task, facts)
      if (next === 'deletions') return { kind: 'deletionsByFilter' }
      return next === 'settings' ? apart : { kind: next }
    case 'clear':
      return next === 'additions' || next === 'settings' ? apart : { kind: 'clear' }
    case 'settings':
      if (next === 'clear') return { kind: 'clearAndSettings' }
      return next === 'settings' ? { kind: 'settings' } : apart
    case 'clearAndSettings':
      return next === 'additions' ? apart : { kind: 'clearAndSettings' }
    case 'indexDeletion':
      return apart
  }
}

function addition(
  batch: Gathered,
  task: QueuedTask,
  facts: { primaryKey: string | null } | undefined,
): Joined {
  if (facts === undefined && batch.mayCreateIndex === false && task.mayCreateIndex) {
    return { stop: `stopped before task ${task.uid}, which may create the index; earlier ones may not` }
  }
  if (conflictsWithIndex(task, facts?.primaryKey ?? null)) {
    return { stop: `stopped before task ${task.uid}, which names another primary key than the index has` }
  }
  const named = task.primaryKey
  if ((facts?.primaryKey ?? null) === null && named !== null && batch.primaryKey !== undefined) {
    if (batch.primaryKey === null) {
      return { stop: `stopped before task ${task.uid}, which names a primary key; earlier ones infer it` }
    }
    if (batch.primaryKey !== named) {
      return { stop: `stopped before task ${task.uid}, which names another primary key than the batch` }
    }
  }
  return { kind: 'additions' }
}

function conflictsWithIndex(task: QueuedTask, primaryKey: string | null): boolean {
  return (
    task.kind === 'documents' &&
    task.primaryKey !== null &&
    primaryKey !== null &&
    task.primaryKey !== primaryKey
  )
}

const neverBatched = ({ uid, type }: QueuedTask) =>
  `stopped before task ${uid} of type \`${type}\`, which never shares a batch`

const alone = (kind: BatchKind, task: QueuedTask): PickedBatch => ({
  kind,
  tasks: [task],
  indexUid: task.indexUid,
  why: `task ${task.uid} of type \`${task.type}\` never shares a batch`,
})

const together = (kind: BatchKind, tasks: readonly QueuedTask[]): PickedBatch => ({
  kind,
  tasks,
  indexUid: null,
  why: `tasks of type \`${tasks[0]?.type}\` share a batch only with each other`,
})

/** Kinds of batches that run without any other batch: they change other tasks, or everything depends on them. */
export const exclusiveKinds: ReadonlySet<BatchKind> = new Set([
  'taskCancelation',
  'taskDeletion',
  'upgradeDatabase',
])
