import { documentLines } from '../../engine/index.js'
import { batchStats, batchView, mergedDetails, parsedDetails, taskView } from '../listing/view.js'
import type { BatchRow, DumpedBatchRow, DumpedTaskRow, TaskRow } from '../store/records.js'
import { taskRows } from '../store/rows.js'
import type { StoreClient } from '../store/store-client.js'
import type { Task } from '../task.js'
import { formatDate } from '../time.js'
import type { BatchContext, Run } from './batch-context.js'
import type { DumpedBatch, DumpedTask, DumpSource } from './dump-source.js'

/** Tasks and batches read at a time. */
const PAGE_ROWS = 200

/** The instance as the batch `run` of a dump reads it, which keeps others from committing; the task of the dump itself is shown as succeeded. */
export async function dumpSource(
  strategy: string,
  run: Run,
  { engine, store, spool, catalogue, rules }: BatchContext,
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
      for await (const { row, newIndexUid, content, foreign } of dumpedTasks(store, lastUid)) {
        const isOwn = row.batchUid === run.batchUid
        const task = { ...taskView(isOwn ? row : withoutBatch(row)), ...wholeDetails(row) }
        if (!isOwn) yield { task, newIndexUid, content, foreign: objectOrNull(foreign) }
        else yield { task: { ...task, ...ended(run) }, newIndexUid, content: null, foreign: null }
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

/** A task that other batches carry out, as it was before: nothing of it has changed an index yet. */
const withoutBatch = (row: TaskRow): TaskRow =>
  row.status === 'processing' ? { ...row, status: 'enqueued', batchUid: null, startedAt: null } : row

/** Details as an object, however long they are. */
function wholeDetails(row: { readonly details: string | null }): Pick<Task, 'details'> {
  const details = parsedDetails(row.details)
  return details === null ? {} : { details }
}

const objectOrNull = (text: string | null): DumpedTask['foreign'] =>
  text === null ? null : (JSON.parse(text) as Readonly<Record<string, unknown>>)

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
  batch: { ...batchView(row, null), ...wholeDetails(row) },
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
