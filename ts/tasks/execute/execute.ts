import { randomUUID } from 'node:crypto'
import type { BatchReport, Operation, Prepared, VectorPage } from '../../engine/index.js'
import { ApiError, type ErrorBody, type ErrorCode, errorBody, toErrorBody } from '../../errors/index.js'
import {
  defaultIndexSettings,
  type IndexSettings,
  mergeSettings,
  remakesBetween,
} from '../../settings/index.js'
import type { PickedBatch } from '../batching.js'
import type { Counters } from '../listing/details.js'
import { humanSize } from '../listing/sizes.js'
import { parsedDetails } from '../listing/view.js'
import { isDiskFull, noSpace } from '../spool.js'
import type { CatalogueRow, PendingTask } from '../store/records.js'
import { formatDate, type Micros } from '../time.js'
import {
  type BatchContext,
  type Effects,
  Interrupted,
  type Outcome,
  type Run,
  type TaskLog,
} from './batch-context.js'
import { dumpSource } from './dump.js'
import { editDocuments } from './edit.js'
import { vectorsFor } from './embedding.js'
import { exportedIndexes } from './export.js'

/**
 * Carries out a batch up to and including its engine commit.
 * Failures of tasks are outcomes.
 * @throws Interrupted if `run.signal` fired before the commit was durable
 */
export async function execute(
  picked: PickedBatch,
  tasks: readonly PendingTask[],
  run: Run,
  around: BatchContext,
): Promise<Effects> {
  try {
    return finished(await effectsOf(picked, tasks, run, around))
  } catch (error) {
    if (error instanceof Interrupted) throw error
    const body = failureBody(error, around.log, run.batchUid)
    return finished(effects({ outcomes: tasks.map((task) => failed(task, body)) }))
  }

  function finished(done: Unfinished): Effects {
    return { ...done, finishedAt: done.finishedAt ?? around.clock.now() }
  }
}

/** What a batch did; it ends when this is known unless something of it carries the date already. */
type Unfinished = Omit<Effects, 'finishedAt'> & { readonly finishedAt: Micros | null }

function effectsOf(
  picked: PickedBatch,
  tasks: readonly PendingTask[],
  run: Run,
  around: BatchContext,
): Promise<Unfinished> {
  const [first] = tasks
  if (first === undefined) throw new TypeError('a batch has at least one task')
  switch (picked.kind) {
    case 'indexCreation':
      return createIndex(first, run, around)
    case 'indexUpdate':
      return updateIndex(first, run, around)
    case 'indexSwap':
      return swapIndexes(first, around)
    case 'indexDeletion':
      return deleteIndex(tasks, run, around)
    case 'edit':
      return editIndex(first, run, around)
    case 'indexCompaction':
      return compactIndex(first, around)
    case 'taskCancelation':
      return cancelTasks(first, around)
    case 'taskDeletion':
      return deleteTasks(tasks, around)
    case 'export':
      return exportIndexes(first, run, around)
    case 'dsrUpdate':
      return changeRule(first, around)
    case 'dsrClear':
      return clearRules(first, around)
    case 'dumpCreation':
      return createDump(first, picked.why, run, around)
    case 'snapshotCreation':
      return refuse(tasks, 'feature_not_enabled', 'snapshots cannot be made by this version, dumps can')
    default:
      return changeIndex(tasks, run, around)
  }
}

/** What a task shows for a failure: mistakes as they are, a full disk as such, the rest as `internal`. */
export function failureBody(error: unknown, log: TaskLog, batchUid: number): ErrorBody {
  if (isDiskFull(error)) {
    log.error({ err: error, batchUid }, 'no space left on the device')
    return noSpace('the changes of this batch').toJSON()
  }
  if (!(error instanceof ApiError)) log.error({ err: error, batchUid }, 'a batch failed unexpectedly')
  return toErrorBody(error)
}

const effects = (some: Partial<Effects>): Unfinished => ({
  finishedAt: null,
  outcomes: [],
  written: [],
  removed: [],
  relabels: [],
  deletedTasks: [],
  dropped: [],
  ...some,
})

const succeeded = (task: PendingTask, counters: Counters = {}): Outcome => ({
  task,
  status: 'succeeded',
  error: null,
  counters,
  canceledBy: null,
  newIndexUid: null,
})

const failed = (task: PendingTask, error: ErrorBody): Outcome => ({
  task,
  status: 'failed',
  error,
  counters: null,
  canceledBy: null,
  newIndexUid: null,
})

const quoted = (uids: readonly (string | null)[]) => uids.map((uid) => `\`${uid}\``).join(', ')

const notFound = (...uids: readonly (string | null)[]) =>
  uids.length === 1
    ? errorBody('index_not_found', `Index ${quoted(uids)} not found.`)
    : errorBody('index_not_found', `Indexes ${quoted(uids)} not found.`)

const alreadyExists = (uid: string | null) =>
  errorBody('index_already_exists', `Index ${quoted([uid])} already exists.`)

async function refuse(tasks: readonly PendingTask[], code: ErrorCode, message: string): Promise<Unfinished> {
  const error = errorBody(code, message)
  return effects({ outcomes: tasks.map((task) => failed(task, error)) })
}

/** Whether a task brings its index into being if there is none. */
function mayCreate({ content }: PendingTask): boolean {
  return (content.kind === 'documents' || content.kind === 'settings') && content.mayCreateIndex
}

/** Documents, deletions and settings of one index as one commit. */
async function changeIndex(
  tasks: readonly PendingTask[],
  run: Run,
  around: BatchContext,
): Promise<Unfinished> {
  const { catalogue, engine, log } = around
  const uid = indexOf(tasks[0])
  const row = catalogue.row(uid)
  const plan = await planOf(tasks, row, run, around)
  if (row === null && !plan.creates) return effects({ outcomes: plan.decided })
  // In the name of a task that asks for the index: one before it may have failed for want of it.
  const asking = (tasks.find(mayCreate) ?? tasks[0])?.row.uid ?? 0
  const creation: Operation = { taskUid: asking, kind: 'primaryKey', primaryKey: null }
  const operations = row === null && plan.operations.length === 0 ? [creation] : plan.operations
  let id = row?.id ?? randomUUID()
  const dropped: string[] = []

  // Tasks that are left out get no outcome: they wait for the next batch.
  const undecided = new Set(plan.operations.map(({ taskUid }) => taskUid))
  const running = tasks.filter((task) => undecided.has(task.row.uid))
  let report: BatchReport | null = null
  let outcomes = plan.decided
  if (row === null) await announce(id, around)
  try {
    if (operations.length > 0) report = await commitOf(id, uid, operations, run, around)
    outcomes = [
      ...outcomes,
      ...running.map((task) => outcomeIn(report, task)),
      ...plan.overtaken.map((task) => succeeded(task, { indexedDocuments: 0 })),
    ]
  } catch (error) {
    if (error instanceof Interrupted) {
      // Nothing refers to the directory of an index that never came into being.
      if (row === null)
        run.leave(
          id,
          run.released(id).then(() => engine.drop(id)),
        )
      throw error
    }
    const body = failureBody(error, log, run.batchUid)
    outcomes = [...outcomes, ...[...running, ...plan.overtaken].map((task) => failed(task, body))]
    // An index asked for by a task that fails comes into being all the same, empty.
    if (row === null) report = await createdEmpty()
  }
  outcomes = [...outcomes].sort((a, b) => a.task.row.uid - b.task.row.uid)
  const finishedAt = around.clock.now()
  if (row === null) {
    if (report === null) return effects({ finishedAt, outcomes, dropped: [...dropped, id] })
    const { primaryKey } = report
    const dates = { createdAt: run.startedAt, updatedAt: finishedAt }
    const written = [{ uid, id, primaryKey, ...dates, lastBatch: report.batchUid }]
    return effects({ finishedAt, outcomes, written, dropped })
  }
  if (report === null) return effects({ finishedAt, outcomes })
  const touched = report.outcomes.some((outcome) => outcome.touched && outcome.error === undefined)
  const updatedAt = touched ? finishedAt : row.updatedAt
  const { primaryKey, batchUid: lastBatch } = report
  return effects({ finishedAt, outcomes, written: [{ ...row, primaryKey, updatedAt, lastBatch }] })

  async function createdEmpty(): Promise<BatchReport | null> {
    // In a directory of its own: a failing disk may have left the failed commit, which has the same uid, in the other.
    dropped.push(id)
    id = randomUUID()
    await announce(id, around)
    try {
      return await commitOf(id, uid, [creation], run, around)
    } catch (error) {
      if (error instanceof Interrupted) throw error
      log.warn({ err: error, indexUid: uid }, 'an index could not be created')
      return null
    }
  }
}

/** Says that a directory is about to be made: without that, what a crash leaves of it is set aside, not removed. */
async function announce(id: string, { store, log }: BatchContext): Promise<void> {
  try {
    await store.call('announce', [id])
  } catch (error) {
    log.warn({ err: error, id }, 'the directory of a new index could not be announced')
  }
}

/** What of a batch the engine has to do, and what is settled without it. The rest of it has to wait. */
interface Plan {
  readonly operations: readonly Operation[]
  /** Tasks that failed, whatever the engine does. */
  readonly decided: readonly Outcome[]
  /** Additions in front of a deletion of all documents: they succeed or fail with the commit that deletes them. */
  readonly overtaken: readonly PendingTask[]
  /** Whether a task asked for the index to exist. */
  readonly creates: boolean
}

async function planOf(
  tasks: readonly PendingTask[],
  row: CatalogueRow | null,
  { signal, requests, step }: Run,
  { engine, spool, embedders, log }: BatchContext,
): Promise<Plan> {
  const operations: Operation[] = []
  const decided: Outcome[] = []
  const overtaken = new Set<PendingTask>()
  const lastClear = tasks.findLastIndex(({ content }) => content.kind === 'clear')
  let exists = row !== null
  let settings: IndexSettings | null = null
  let isRisky = false
  const currentSettings = async () => (row === null ? defaultIndexSettings : engine.settings(row.id))
  for (const [position, task] of tasks.entries()) {
    const { content } = task
    const taskUid = task.row.uid
    if (!exists && !mayCreate(task)) {
      decided.push(failed(task, notFound(task.row.indexUid)))
      continue
    }
    exists = true
    switch (content.kind) {
      case 'documents': {
        const { method, primaryKey, skipCreation } = content
        const { payload: stored } = content
        try {
          await spool.check(stored, content.payloadBytes)
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          log.error({ taskUid, reason: error.message }, 'an upload that was accepted is damaged')
          decided.push(failed(task, error.toJSON()))
          break
        }
        if (position < lastClear) overtaken.add(task)
        const payload = 'text' in stored ? stored : { ...stored, path: spool.pathOf(stored.path) }
        const documents = receivedDocuments(task)
        operations.push({ taskUid, kind: 'documents', method, primaryKey, skipCreation, payload, documents })
        break
      }
      case 'deleteByIds':
        operations.push({ taskUid, kind: 'deleteByIds', ids: content.ids })
        break
      case 'deleteByFilter':
        operations.push({ taskUid, kind: 'deleteByFilter', filter: content.filter })
        break
      case 'clear':
        operations.push({ taskUid, kind: 'clear' })
        break
      case 'settings': {
        if (isRisky) return plan(position)
        try {
          const before = settings ?? (await currentSettings())
          const merged = mergeSettings(before, content.patch)
          if (Object.keys(merged.embedders).length > 0) step('preparing')
          settings = await embedders.settled(before, merged, { signal, counts: requests })
          operations.push({ taskUid, kind: 'settings', settings, remakes: remakesBetween(before, settings) })
          isRisky = askDocuments(content.patch)
        } catch (error) {
          if (signal.aborted) throw new Interrupted()
          if (!(error instanceof ApiError)) throw error
          decided.push(failed(task, error.toJSON()))
        }
        break
      }
      default:
        throw new TypeError(`task ${taskUid} of kind ${content.kind} cannot share a commit`)
    }
  }
  return plan(tasks.length)

  /** @param end position of the first task that has to wait */
  function plan(end: number): Plan {
    // Additions are carried out if the deletion behind them has to wait: it may be canceled until then.
    if (lastClear >= end) overtaken.clear()
    const uids = new Set([...overtaken].map(({ row: { uid } }) => uid))
    return {
      operations: operations.filter(({ taskUid }) => !uids.has(taskUid)),
      decided,
      overtaken: [...overtaken],
      creates: tasks.some(mayCreate),
    }
  }
}

/** As counted when they arrived. */
function receivedDocuments({ row }: PendingTask): number {
  const received = parsedDetails(row.details)?.receivedDocuments
  return typeof received === 'number' ? received : 0
}

/**
 * Whether stored documents decide if settings can be had. Settings sent later contain those before them,
 * so what follows must not be settled before it is known whether these were.
 */
function askDocuments(patch: Readonly<Record<string, unknown>>): boolean {
  const { embedders = null, filterableAttributes = null, sortableAttributes = null } = patch
  return embedders !== null || /_geo|\*/.test(JSON.stringify([filterableAttributes, sortableAttributes]))
}

/** One commit of the engine, given up if the run is interrupted before it begins. */
async function commitOf(
  id: string,
  indexUid: string,
  operations: readonly Operation[],
  run: Run,
  { engine, embedders, catalogue }: BatchContext,
): Promise<BatchReport> {
  await run.released(id)
  run.step('preparing')
  run.follow(() => engine.progress(id))
  const preparing = engine.prepare(id, { uid: run.batchUid, indexUid, operations }, run.signal)
  const prepared = await interruptible(preparing)
  const vectors = prepared.work > 0 ? await embedded() : []
  if (run.signal.aborted) return giveUp()
  run.step('committing')
  run.follow(() => engine.progress(id))
  // The engine stops a commit that is not yet past the point of no return; then it fails.
  const stop = () => void engine.abandon(prepared).catch(() => undefined)
  run.signal.addEventListener('abort', stop, { once: true })
  try {
    return await engine.commit(prepared, vectors)
  } catch (error) {
    // The directory of an index that never came into being goes as a whole.
    if (catalogue.row(indexUid)?.id === id) run.commitFailed(id)
    throw run.signal.aborted ? new Interrupted() : error
  } finally {
    run.signal.removeEventListener('abort', stop)
  }

  async function embedded(): Promise<readonly VectorPage[]> {
    run.step('embedding')
    const { signal, requests: counts } = run
    try {
      return await vectorsFor(prepared, { engine, embedders, signal, counts, count: run.count })
    } catch (error) {
      if (signal.aborted) giveUp()
      await engine.abandon(prepared)
      throw error
    }
  }

  function giveUp(): never {
    // A preparation that failed, of its interruption or otherwise, has left nothing.
    const undone = preparing.then(
      (left: Prepared) => engine.abandon(left),
      () => undefined,
    )
    run.leave(id, undone)
    throw new Interrupted()
  }

  async function interruptible<T>(work: Promise<T>): Promise<T> {
    let stop: () => void = () => undefined
    const interrupted = new Promise<null>((resolve) => {
      stop = () => resolve(null)
      run.signal.addEventListener('abort', stop, { once: true })
      if (run.signal.aborted) stop()
    })
    try {
      const done = await Promise.race([work.then((value) => ({ value })), interrupted])
      if (done === null) {
        work.catch(() => undefined)
        return giveUp()
      }
      return done.value
    } finally {
      run.signal.removeEventListener('abort', stop)
    }
  }
}

function outcomeIn(report: BatchReport | null, task: PendingTask): Outcome {
  const outcome = report?.outcomes.find(({ taskUid }) => taskUid === task.row.uid)
  if (outcome === undefined) throw new TypeError(`the engine reported nothing about task ${task.row.uid}`)
  if (outcome.error !== undefined) return failed(task, errorBody(outcome.error.code, outcome.error.message))
  return succeeded(task, countersOf(outcome))
}

/** The counters an engine reports that tasks show. */
export function countersOf(outcome: BatchReport['outcomes'][number]): Counters {
  const { indexedDocuments, editedDocuments, deletedDocuments } = outcome
  return {
    // The API counts every document a script was run over under both names.
    ...(editedDocuments === undefined ? {} : { editedDocuments, deletedDocuments: editedDocuments }),
    ...(indexedDocuments === undefined ? {} : { indexedDocuments }),
    ...(deletedDocuments === undefined ? {} : { deletedDocuments }),
  }
}

/** Runs a script over the documents of an index, then commits what it changed. */
async function editIndex(task: PendingTask, run: Run, around: BatchContext): Promise<Unfinished> {
  const { catalogue, engine, spool, runScript, log } = around
  const uid = indexOf(task)
  const row = catalogue.row(uid)
  if (row === null) return effects({ outcomes: [failed(task, notFound(uid))] })
  run.step('running the function', { finished: 0, total: 3 })
  const { count, signal } = run
  const checkpoint = (): void => {
    if (signal.aborted) throw new Interrupted()
  }
  const edit = contentOf(task, 'edit')
  // What has been committed stays so, whether its upload can be removed or not; the next start removes it otherwise.
  const remove = async (path: string): Promise<void> => {
    await spool.remove(path).catch((error: unknown) => {
      log.warn({ err: error, path }, 'the documents that a function has changed could not be removed')
    })
  }
  const surroundings = { engine, slot: spool.slot, remove, runScript, signal, checkpoint, count }
  const operation = await editDocuments(edit, task.row.uid, row, surroundings)
  try {
    const report = await commitOf(row.id, uid, [operation], run, around)
    const finishedAt = around.clock.now()
    const outcomes = [outcomeIn(report, task)]
    const touched = outcomes[0]?.status === 'succeeded'
    const updatedAt = touched ? finishedAt : row.updatedAt
    const written = [{ ...row, updatedAt, lastBatch: report.batchUid }]
    return effects({ finishedAt, outcomes, written })
  } finally {
    if (operation.payload !== null && 'path' in operation.payload) await remove(operation.payload.path)
  }
}

async function createIndex(task: PendingTask, run: Run, around: BatchContext): Promise<Unfinished> {
  const { engine, catalogue, log } = around
  const uid = indexOf(task)
  const { primaryKey } = contentOf(task, 'indexCreation')
  if (catalogue.row(uid) !== null) return effects({ outcomes: [failed(task, alreadyExists(uid))] })
  const id = randomUUID()
  const taskUid = task.row.uid
  await announce(id, around)
  try {
    const report = await commitOf(id, uid, [{ taskUid, kind: 'primaryKey', primaryKey }], run, around)
    const outcome = outcomeIn(report, task)
    if (outcome.status === 'failed') return effects({ outcomes: [outcome], dropped: [id] })
    const finishedAt = around.clock.now()
    const { primaryKey: found, batchUid: lastBatch } = report
    const dates = { createdAt: finishedAt, updatedAt: finishedAt }
    const written = [{ uid, id, primaryKey: found, ...dates, lastBatch }]
    return effects({ finishedAt, outcomes: [outcome], written })
  } catch (error) {
    if (error instanceof Interrupted) throw error
    await engine.drop(id).catch(() => undefined)
    return effects({ outcomes: [failed(task, failureBody(error, log, run.batchUid))] })
  }
}

async function updateIndex(task: PendingTask, run: Run, around: BatchContext): Promise<Unfinished> {
  const { catalogue } = around
  const uid = indexOf(task)
  const { primaryKey, newUid } = contentOf(task, 'indexUpdate')
  const row = catalogue.row(uid)
  if (row === null) return effects({ outcomes: [failed(task, notFound(uid))] })
  const renamed = newUid !== null && newUid !== uid ? newUid : null
  if (renamed !== null && catalogue.row(renamed) !== null) {
    return effects({ outcomes: [failed(task, alreadyExists(renamed))] })
  }
  const taskUid = task.row.uid
  const report =
    primaryKey === null
      ? null
      : await commitOf(row.id, uid, [{ taskUid, kind: 'primaryKey', primaryKey }], run, around)
  return updatedIndex(task, row, report, around.clock.now())
}

/**
 * What an index update comes to once its commit is made: its outcome, its row, its new name.
 * @param row as it was before
 * @param report null: there was nothing to commit
 */
export function updatedIndex(
  task: PendingTask,
  row: CatalogueRow,
  report: BatchReport | null,
  finishedAt: Micros,
): Effects {
  const { newUid } = contentOf(task, 'indexUpdate')
  const renamed = newUid !== row.uid ? newUid : null
  const outcome = report === null ? succeeded(task) : outcomeIn(report, task)
  const lastBatch = report === null ? row.lastBatch : report.batchUid
  if (outcome.status === 'failed') {
    return { ...effects({ outcomes: [outcome], written: [{ ...row, lastBatch }] }), finishedAt }
  }
  const touched = renamed !== null || report?.outcomes.some((done) => done.touched) === true
  const changed: CatalogueRow = {
    ...row,
    uid: renamed ?? row.uid,
    primaryKey: report === null ? row.primaryKey : report.primaryKey,
    updatedAt: touched ? finishedAt : row.updatedAt,
    lastBatch,
  }
  return {
    ...effects({
      outcomes: [{ ...outcome, newIndexUid: renamed }],
      removed: renamed === null ? [] : [row.uid],
      written: [changed],
      relabels: renamed === null ? [] : [{ from: row.uid, to: renamed, swap: false, before: task.row.uid }],
    }),
    finishedAt,
  }
}

async function swapIndexes(task: PendingTask, { catalogue }: BatchContext): Promise<Unfinished> {
  const { swaps } = contentOf(task, 'indexSwap')
  const missing = swaps
    .flatMap(({ indexes: [a, b], rename }) => (rename ? [a] : [a, b]))
    .filter((uid) => catalogue.row(uid) === null)
  if (missing.length > 0) return effects({ outcomes: [failed(task, notFound(...missing))] })
  const taken = swaps.find(({ indexes, rename }) => rename && catalogue.row(indexes[1]) !== null)
  if (taken !== undefined) return effects({ outcomes: [failed(task, alreadyExists(taken.indexes[1]))] })

  const written: CatalogueRow[] = []
  for (const { indexes } of swaps) {
    const [a, b] = indexes
    const [rowA, rowB] = [catalogue.row(a), catalogue.row(b)]
    if (rowA !== null) written.push({ ...rowA, uid: b })
    if (rowB !== null) written.push({ ...rowB, uid: a })
  }
  return effects({
    outcomes: [succeeded(task)],
    removed: swaps.flatMap(({ indexes }) => indexes),
    written,
    relabels: swaps.map(({ indexes: [from, to], rename }) => ({
      from,
      to,
      swap: !rename,
      before: task.row.uid,
    })),
  })
}

async function deleteIndex(
  tasks: readonly PendingTask[],
  run: Run,
  { engine, catalogue, log }: BatchContext,
): Promise<Unfinished> {
  const uid = indexOf(tasks[0])
  const row = catalogue.row(uid)
  if (row === null && !tasks.some(mayCreate)) {
    return effects({ outcomes: tasks.map((task) => failed(task, notFound(uid))) })
  }
  if (row !== null) await run.released(row.id)
  const present = row === null ? 0 : await documentsIn(row)
  const outcomes = tasks.map((task) => succeeded(task, swallowed(task, present)))
  return effects({
    outcomes,
    removed: row === null ? [] : [uid],
    dropped: row === null ? [] : [row.id],
  })

  /** What cannot be counted can be deleted all the same. */
  async function documentsIn({ id }: CatalogueRow): Promise<number> {
    try {
      return (await engine.stats(id)).numberOfDocuments
    } catch (error) {
      log.warn({ err: error, indexUid: uid }, 'the documents of an index were deleted without being counted')
      return 0
    }
  }
}

/** What a task of a deleted index counted; only the deletion itself removed something. */
function swallowed({ content }: PendingTask, present: number): Counters {
  switch (content.kind) {
    case 'indexDeletion':
      return { deletedDocuments: present }
    case 'documents':
      return { indexedDocuments: 0 }
    case 'settings':
      return {}
    default:
      return { deletedDocuments: 0 }
  }
}

async function compactIndex(task: PendingTask, { engine, catalogue }: BatchContext): Promise<Unfinished> {
  const uid = indexOf(task)
  const row = catalogue.row(uid)
  if (row === null) return effects({ outcomes: [failed(task, notFound(uid))] })
  // Segments are merged as they are written, so there is nothing to reclaim; the sizes say so.
  const size = humanSize((await engine.stats(row.id)).indexSize)
  return effects({ outcomes: [succeeded(task, { preCompactionSize: size, postCompactionSize: size })] })
}

async function changeRule(task: PendingTask, { rules }: BatchContext): Promise<Unfinished> {
  const { uid, patch } = contentOf(task, 'dsrUpdate')
  await rules.change(uid, patch, formatDate(task.row.enqueuedAt))
  return effects({ outcomes: [succeeded(task, { updatedRules: 1 })] })
}

/** Copies indexes one after another. What was sent before a failure stays where it is. */
async function exportIndexes(task: PendingTask, run: Run, around: BatchContext): Promise<Unfinished> {
  const { engine, catalogue, exportIndex, log } = around
  const content = contentOf(task, 'export')
  const { url, apiKey, payloadBytesMax } = content
  const target = { url, apiKey, payloadBytesMax, signal: run.signal }
  const sent: [string, object][] = []
  const leftOut = new Map<string, string>()
  try {
    const works = exportedIndexes(content, catalogue.rows())
    for (const [finished, work] of works.entries()) {
      run.step(`exporting ${work.index.uid}`, { finished, total: works.length })
      const { filter, overrideSettings } = work
      try {
        const matched = await exportIndex(engine, work, target)
        sent.push([work.index.uid, { filter, overrideSettings, matched_documents: matched }])
      } catch (error) {
        const damage = engine.damage(work.index.id)
        if (damage === null) throw error
        leftOut.set(work.index.uid, damage)
        log.warn({ indexUid: work.index.uid, damage }, 'a damaged index is not exported')
      }
    }
  } catch (error) {
    throw run.signal.aborted ? new Interrupted() : error
  }
  const details = { indexes: Object.fromEntries(sent), ...damagedOnes(leftOut) }
  return effects({ outcomes: [succeeded(task, details)] })
}

/** Writes a dump of everything there is. */
async function createDump(
  task: PendingTask,
  strategy: string,
  run: Run,
  around: BatchContext,
): Promise<Unfinished> {
  const leftOut = new Map<string, string>()
  try {
    const source = await dumpSource(strategy, run, around, ({ uid }, damage) => {
      leftOut.set(uid, damage)
      around.log.warn({ indexUid: uid, damage, batchUid: run.batchUid }, 'a damaged index is not in the dump')
    })
    const dumpUid = await around.writeDump(source)
    return effects({ outcomes: [succeeded(task, { dumpUid, ...damagedOnes(leftOut) })] })
  } catch (error) {
    if (run.signal.aborted) throw new Interrupted()
    if (error instanceof ApiError) throw error
    around.log.error({ err: error, batchUid: run.batchUid }, 'a dump failed unexpectedly')
    throw new ApiError('dump_process_failed', `the dump failed: ${messageOf(error)}`)
  }
}

/** Index uid → what is wrong with it, for indexes that a task left out. */
const damagedOnes = (leftOut: ReadonlyMap<string, string>): Counters =>
  leftOut.size === 0 ? {} : { damagedIndexes: Object.fromEntries(leftOut) }

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

async function clearRules(task: PendingTask, { rules }: BatchContext): Promise<Unfinished> {
  return effects({ outcomes: [succeeded(task, { deletedDocuments: await rules.clear() })] })
}

async function cancelTasks(task: PendingTask, { store }: BatchContext): Promise<Unfinished> {
  const { tasks } = contentOf(task, 'taskCancelation')
  const own = task.row.uid
  const canceled = await store.call('pending', [tasks.filter((uid) => uid < own)])
  return effects({
    outcomes: [
      ...canceled.map(
        (other): Outcome => ({
          task: other,
          status: 'canceled',
          error: null,
          counters: null,
          canceledBy: own,
          newIndexUid: null,
        }),
      ),
      succeeded(task, { canceledTasks: canceled.length }),
    ],
  })
}

async function deleteTasks(tasks: readonly PendingTask[], { store }: BatchContext): Promise<Unfinished> {
  const deleted = new Set<number>()
  const outcomes: Outcome[] = []
  for (const task of tasks) {
    const { tasks: matched } = contentOf(task, 'taskDeletion')
    const ended = await store.call('ended', [matched.filter((uid) => uid < task.row.uid)])
    const before = deleted.size
    for (const uid of ended) deleted.add(uid)
    outcomes.push(succeeded(task, { deletedTasks: deleted.size - before }))
  }
  return effects({ outcomes, deletedTasks: [...deleted] })
}

function indexOf(task: PendingTask | undefined): string {
  if (task === undefined || task.row.indexUid === null) throw new TypeError('the task names no index')
  return task.row.indexUid
}

function contentOf<K extends PendingTask['content']['kind']>(
  task: PendingTask,
  kind: K,
): Extract<PendingTask['content'], { kind: K }> {
  if (task.content.kind !== kind)
    throw new TypeError(`task ${task.row.uid} is ${task.content.kind}, not ${kind}`)
  return task.content as Extract<PendingTask['content'], { kind: K }>
}
