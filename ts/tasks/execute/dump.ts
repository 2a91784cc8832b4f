import { documentLines } from '../../engine/index.js'
import { batchStats, batchView, mergedDetails, parsedDetails, taskView } from '../listing/view.js'
import type { BatchRow, DumpedBatchRow, DumpedTaskRow, PendingTask } from '../store/records.js'
import { openStoreCopy, type StoreReader } from '../store/store-copy.js'
import type { Task } from '../task.js'
import { formatDate } from '../time.js'
import type { BatchContext, Run } from './batch-context.js'
import type { DumpedBatch, DumpedTask, DumpSource } from './dump-source.js'
import { frozen, type LeaveOut, unlessDamaged } from './frozen.js'

/** Tasks or batches read at once. */
const PAGE_ROWS = 200

/** Creates the source of a dump. @param own task of the dump, which appears in it as succeeded */
export function dumpSource(
  own: PendingTask,
  strategy: string,
  run: Run,
  context: BatchContext,
  leaveOut: LeaveOut,
): DumpSource {
  const { engine, spool } = context
  return {
    startedAt: new Date(run.startedAt / 1000),
    async freeze(storePath) {
      const { indexes, rules, release } = await frozen(
        { path: storePath, purpose: 'reading', omitted: [] },
        run,
        context,
        leaveOut,
      )
      const store = openStoreCopy(storePath, context.store.driver)
      const close = async () => {
        try {
          await store.close()
        } finally {
          await release()
        }
      }
      try {
        const newest = await store.call('tasks', [{}, { limit: 0, from: null, reverse: false }])
        return {
          indexes: indexes.map(({ entry, pin }) => ({
            entry,
            settings: () => engine.pinnedSettings(pin),
            list: (request: Uint8Array) => engine.pinnedDocuments(pin, request),
            unlessDamaged: <T>(read: () => Promise<T>) => unlessDamaged(engine, entry, leaveOut, read),
          })),
          rules,
          keys: () => store.call('keys', []),
          value: (name) => store.call('value', [name]),
          valueNames: (prefix) => store.call('valueNames', [prefix]),
          webhooks: () => store.call('webhooks', []),
          taskCount: newest.total,
          tasks: () => tasksOf(store, own, run),
          batches: () => batchesOf(store, own, run, strategy),
          async *documents({ payload, payloadBytes }) {
            await spool.check(payload, payloadBytes)
            yield* documentLines(
              'text' in payload ? payload : { ...payload, path: spool.pathOf(payload.path) },
            )
          },
          release: close,
        }
      } catch (error) {
        await close()
        throw error
      }
    },
    signal: run.signal,
    step: run.step,
    count: run.count,
  }
}

async function* tasksOf(store: StoreReader, own: PendingTask, run: Run): AsyncGenerator<DumpedTask> {
  for await (const { row, newIndexUid, content, foreign } of dumpedTasks(store)) {
    const task = { ...taskView(row), ...fullDetails(row) }
    if (row.uid !== own.row.uid) yield { task, newIndexUid, content, foreign: objectOrNull(foreign) }
    else yield { task: { ...task, ...ended(run) }, newIndexUid, content: null, foreign: null }
  }
}

/** Finished batches and the dump's own, ascending by uid. */
async function* batchesOf(
  store: StoreReader,
  { row: { enqueuedAt } }: PendingTask,
  run: Run,
  strategy: string,
): AsyncGenerator<DumpedBatch> {
  const own = batchOf({
    row: ownBatch(run, strategy),
    oldestEnqueuedAt: enqueuedAt,
    newestEnqueuedAt: enqueuedAt,
  })
  let ownIsDue = true
  for await (const dumped of dumpedBatches(store)) {
    // Batches that began after the dump's own may have ended before the state was frozen.
    if (ownIsDue && dumped.row.uid > run.batchUid) {
      ownIsDue = false
      yield own
    }
    yield batchOf(dumped)
  }
  if (ownIsDue) yield own
}

/** Details as an object, without a length limit. */
function fullDetails(row: { readonly details: string | null }): Pick<Task, 'details'> {
  const details = parsedDetails(row.details)
  return details === null ? {} : { details }
}

const objectOrNull = (text: string | null): DumpedTask['foreign'] =>
  text === null ? null : (JSON.parse(text) as Readonly<Record<string, unknown>>)

const ended = ({ batchUid, startedAt }: Run) => {
  const at = formatDate(startedAt)
  return { batchUid, status: 'succeeded', startedAt: at, duration: 'PT0S', finishedAt: at } as const
}

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
  batch: { ...batchView(row, null), ...fullDetails(row) },
  oldestEnqueuedAt: formatDate(oldestEnqueuedAt),
  newestEnqueuedAt: formatDate(newestEnqueuedAt),
})

async function* dumpedTasks(store: StoreReader): AsyncGenerator<DumpedTaskRow> {
  for (let after = -1; ; ) {
    const page = await store.call('dumpedTasks', [after, PAGE_ROWS])
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    after = last.row.uid
  }
}

async function* dumpedBatches(store: StoreReader): AsyncGenerator<DumpedBatchRow> {
  for (let after = -1; ; ) {
    const page = await store.call('dumpedBatches', [after, PAGE_ROWS])
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    after = last.row.uid
  }
}
