import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import {
  type DriverName,
  type NewTask,
  type OpenedTasks,
  openTasks,
  type Task,
  type TaskContent,
  type TaskLog,
  type Tasks,
  type TasksSetup,
  type TaskType,
  type WriteDump,
} from '../../ts/tasks/index.js'
import { type FakeEngine, type Hooks, openFake } from './fake-engine.js'

export const quiet: TaskLog = { debug: nothing, info: nothing, warn: nothing, error: nothing }

function nothing(): void {}

/** Creates a directory that is removed after the test. */
export async function temporaryDirectory(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'siftd-tasks-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** A queue with a fake engine. Runs no tasks until `start`. */
export interface TestQueue extends OpenedTasks {
  readonly directory: string
  readonly engine: FakeEngine
  readonly hooks: Hooks
}

export async function testQueue(
  t: ExecutionContext,
  options: {
    readonly directory?: string
    readonly hooks?: Hooks
    readonly limits?: NonNullable<TasksSetup['limits']>
    readonly driver?: DriverName
    readonly log?: TaskLog
    readonly capacity?: NonNullable<TasksSetup['capacity']>
    readonly storedTasksMax?: number
    readonly writeDump?: WriteDump
  } = {},
): Promise<TestQueue> {
  const directory = options.directory ?? (await temporaryDirectory(t))
  const hooks = options.hooks ?? {}
  const engine = await openFake(join(directory, 'indexes'), hooks)
  const { limits, driver, log = quiet, storedTasksMax, writeDump } = options
  const opened = await openTasks({
    directory,
    engine,
    log,
    capacity: { reserveBytes: 64 * 1024, ...options.capacity },
    ...(storedTasksMax === undefined ? {} : { storedTasksMax }),
    ...(limits === undefined ? {} : { limits }),
    ...(writeDump === undefined ? {} : { writeDump }),
    ...(driver === undefined ? {} : { driver }),
  })
  let closed: Promise<void> | null = null
  const close = () => {
    closed ??= opened.close()
    return closed
  }
  t.teardown(close)
  return { ...opened, close, directory, engine, hooks }
}

const types: Readonly<Record<TaskContent['kind'], TaskType>> = {
  documents: 'documentAdditionOrUpdate',
  deleteByIds: 'documentDeletion',
  deleteByFilter: 'documentDeletion',
  edit: 'documentEdition',
  clear: 'documentDeletion',
  settings: 'settingsUpdate',
  indexCreation: 'indexCreation',
  indexUpdate: 'indexUpdate',
  indexDeletion: 'indexDeletion',
  indexSwap: 'indexSwap',
  indexCompaction: 'indexCompaction',
  taskCancelation: 'taskCancelation',
  taskDeletion: 'taskDeletion',
  upgradeDatabase: 'upgradeDatabase',
  dumpCreation: 'dumpCreation',
  snapshotCreation: 'snapshotCreation',
  dsrUpdate: 'dsrUpdate',
  dsrClear: 'dsrClear',
  export: 'export',
}

export const create = (indexUid: string, primaryKey: string | null = null): NewTask =>
  task(indexUid, { kind: 'indexCreation', primaryKey })
export const update = (
  indexUid: string,
  change: { readonly primaryKey?: string; readonly newUid?: string },
): NewTask =>
  task(indexUid, {
    kind: 'indexUpdate',
    primaryKey: change.primaryKey ?? null,
    newUid: change.newUid ?? null,
  })
export const edit = (indexUid: string): NewTask =>
  task(indexUid, { kind: 'edit', function: 'doc.seen = true', filter: null, context: null })
export const drop = (indexUid: string): NewTask => task(indexUid, { kind: 'indexDeletion' })
export const clear = (indexUid: string): NewTask => task(indexUid, { kind: 'clear' })
export const deleteIds = (indexUid: string, ...ids: string[]): NewTask =>
  task(indexUid, { kind: 'deleteByIds', ids })
export const deleteBy = (indexUid: string, filter: unknown): NewTask =>
  task(indexUid, { kind: 'deleteByFilter', filter })
export const settings = (indexUid: string, patch: Readonly<Record<string, unknown>>): NewTask =>
  task(indexUid, {
    kind: 'settings',
    patch: JSON.stringify(patch),
    details: JSON.stringify(patch),
    isReset: false,
    mayCreateIndex: true,
  })
export const swap = (...pairs: readonly (readonly [string, string, rename?: 'rename'])[]): NewTask =>
  task(null, {
    kind: 'indexSwap',
    swaps: pairs.map(([a, b, rename]) => ({ indexes: [a, b], rename: rename === 'rename' })),
  })
export const dump = (): NewTask => task(null, { kind: 'dumpCreation' })
export const cancel = (query: string, ...tasks: number[]): NewTask =>
  task(null, { kind: 'taskCancelation', query, tasks })
export const forget = (query: string, ...tasks: number[]): NewTask =>
  task(null, { kind: 'taskDeletion', query, tasks })
export const snapshot: NewTask = task(null, { kind: 'snapshotCreation' })

function task(indexUid: string | null, content: TaskContent): NewTask {
  return { indexUid, type: types[content.kind], content }
}

/** Spools a JSON body and enqueues its addition. */
export async function add(
  tasks: Tasks,
  indexUid: string,
  documents: readonly object[],
  options: {
    readonly primaryKey?: string
    readonly mayCreateIndex?: boolean
    readonly customMetadata?: string
  } = {},
) {
  const slot = await tasks.spool('json')
  const body = JSON.stringify(documents)
  await writeFile(slot.path, body)
  await slot.sync()
  return tasks.enqueue({
    indexUid,
    type: 'documentAdditionOrUpdate',
    customMetadata: options.customMetadata,
    content: {
      kind: 'documents',
      method: 'replace',
      payload: { path: slot.path, format: 'json' },
      payloadBytes: body.length,
      receivedDocuments: documents.length,
      primaryKey: options.primaryKey ?? null,
      skipCreation: false,
      mayCreateIndex: options.mayCreateIndex ?? true,
    },
  })
}

/** Waits for the end of a task and returns it. */
export async function ended(tasks: Tasks, uid: number): Promise<Task> {
  for (;;) {
    const found = await tasks.get(uid, null)
    if (found === null) throw new Error(`task ${uid} does not exist`)
    if (found.finishedAt !== null) return found
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** Returns the uids of all tasks by batch, in the order of batch uids. */
export async function batchesOf(tasks: Tasks): Promise<number[][]> {
  const { results } = await tasks.list({}, { limit: 1000, from: null, reverse: true })
  const batches = new Map<number, number[]>()
  for (const { uid, batchUid } of results) {
    if (batchUid === null) throw new Error(`task ${uid} has not run`)
    batches.set(batchUid, [...(batches.get(batchUid) ?? []), uid])
  }
  return [...batches].sort(([a], [b]) => a - b).map(([, uids]) => uids)
}

/** A promise that resolves when `open` is called or the test ends. */
export function gate(t: ExecutionContext): { readonly passed: Promise<void>; open(): void } {
  let open: () => void = () => undefined
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  t.teardown(() => open())
  return { passed, open: () => open() }
}
