import { documentLines, type Engine } from '../engine/index.js'
import type { Rule } from '../rules/index.js'
import type { Place, Run, Surroundings } from './execute.js'
import type { BatchRow, DumpedBatchRow, DumpedTaskRow, StoredWebhook } from './records.js'
import { taskRows } from './rows.js'
import type { StoreClient } from './store-client.js'
import type { BatchView, Task, TaskContent } from './task.js'
import type { IndexEntry, StoredKey } from './tasks.js'
import { formatDate } from './time.js'
import { batchStats, batchView, mergedDetails, taskView } from './view.js'

/** Tasks and batches read at a time. */
const PAGE_ROWS = 200

/** A task as a dump holds it. */
export interface DumpedTask {
  readonly task: Task
  /** Second name under which a finished rename is listed. */
  readonly newIndexUid: string | null
  /** What it was to do; null once it has ended. */
  readonly content: TaskContent | null
}

/** A finished batch as a dump holds it. Dates are RFC 3339, UTC. */
export interface DumpedBatch {
  readonly batch: BatchView
  /** Arrival of its oldest and of its newest task. */
  readonly oldestEnqueuedAt: string
  readonly newestEnqueuedAt: string
}

/**
 * Everything of an instance, as it was when the dump began: while a batch runs nothing changes but keys,
 * features and the like, and tasks that arrive later are left out.
 */
export interface DumpSource {
  readonly engine: Engine
  readonly startedAt: Date
  /** Ascending by uid. */
  readonly indexes: readonly IndexEntry[]
  readonly rules: readonly Rule[]
  keys(): Promise<readonly StoredKey[]>
  /** As `InstanceStore.value`. */
  value(name: string): Promise<unknown>
  webhooks(): Promise<readonly StoredWebhook[]>
  /** Number of tasks, about. */
  readonly taskCount: number
  /** All tasks, ascending by uid. */
  tasks(): AsyncIterable<DumpedTask>
  batches(): AsyncIterable<DumpedBatch>
  /** The documents of a waiting upload, one a line. */
  documents(upload: Extract<TaskContent, { readonly kind: 'documents' }>): AsyncIterable<string>
  /** Aborted when the task was canceled. */
  readonly signal: AbortSignal
  /** Says what is being done now. */
  step(name: string, place: Place): void
  /** How far the step has come. @param unit such as `document` */
  count(unit: string, finished: number, total: number): void
  /** Says that an index is not in the dump. @param damage why */
  leaveOut(index: IndexEntry, damage: string): void
}

/**
 * Writes a dump, whole or not at all; resolves to its uid.
 * @throws ApiError `io_error` if it cannot be written
 */
export type WriteDump = (source: DumpSource) => Promise<string>

/** What the batch `run` finds, seen as if the dump itself had ended well. */
export async function dumpSource(
  strategy: string,
  run: Run,
  { engine, store, spool, catalogue, rules }: Surroundings,
  leaveOut: DumpSource['leaveOut'],
): Promise<DumpSource> {
  const newest = await store.call('tasks', [{}, { limit: 0, from: null, reverse: false }])
  const lastUid = taskRows(newest.rows, false)[0]?.uid ?? -1
  return {
    engine,
    startedAt: new Date(run.startedAt / 1000),
    indexes: catalogue.entries(),
    rules: rules.all(),
    keys: () => store.call('keys', []),
    value: (name) => store.call('value', [name]),
    webhooks: () => store.call('webhooks', []),
    taskCount: newest.total,
    async *tasks() {
      for await (const { row, newIndexUid, content } of dumpedTasks(store, lastUid)) {
        if (row.batchUid !== run.batchUid) yield { task: taskView(row), newIndexUid, content }
        else yield { task: { ...taskView(row), ...ended(run) }, newIndexUid, content: null }
      }
    },
    async *batches() {
      for await (const dumped of dumpedBatches(store)) yield batchOf(dumped)
      const own = await store.call('deliveryRows', [run.batchUid, -1, 1])
      const arrivedAt = own[0]?.enqueuedAt ?? run.startedAt
      const row = ownBatch(run, strategy)
      yield batchOf({ row, oldestEnqueuedAt: arrivedAt, newestEnqueuedAt: arrivedAt })
    },
    async *documents({ payload, payloadBytes }) {
      await spool.check(payload, payloadBytes)
      yield* documentLines('text' in payload ? payload : { ...payload, path: spool.pathOf(payload.path) })
    },
    signal: run.signal,
    step: run.step,
    count: run.count,
    leaveOut,
  }
}

const ended = ({ startedAt }: Run) =>
  ({ status: 'succeeded', duration: 'PT0S', finishedAt: formatDate(startedAt) }) as const

function ownBatch({ batchUid, startedAt }: Run, strategy: string): BatchRow {
  const details = { dumpUid: null }
  const members = [{ status: 'succeeded', type: 'dumpCreation', indexUid: null, details }] as const
  return {
    uid: batchUid,
    startedAt,
    finishedAt: startedAt,
    strategy,
    details: JSON.stringify(mergedDetails(members)),
    stats: JSON.stringify(batchStats(members)),
  }
}

const batchOf = ({ row, oldestEnqueuedAt, newestEnqueuedAt }: DumpedBatchRow): DumpedBatch => ({
  batch: batchView(row, null),
  oldestEnqueuedAt: formatDate(oldestEnqueuedAt),
  newestEnqueuedAt: formatDate(newestEnqueuedAt),
})

async function* dumpedTasks(store: StoreClient, lastUid: number): AsyncGenerator<DumpedTaskRow> {
  for (let after = -1; ; ) {
    const page = await store.call('dumpedTasks', [after, lastUid, PAGE_ROWS])
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    after = last.row.uid
  }
}

async function* dumpedBatches(store: StoreClient): AsyncGenerator<DumpedBatchRow> {
  for (let after = -1; ; ) {
    const page = await store.call('dumpedBatches', [after, PAGE_ROWS])
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    after = last.row.uid
  }
}
