import { documentLines, type Engine, type RunScript } from '../engine/index.js'
import type { Catalogue } from './catalogue/catalogue.js'
import type { StoredRules } from './catalogue/stored-rules.js'
import type { TaskChanges } from './changes.js'
import { PENDING_RULE_TASKS_MAX, PENDING_TASKS_READ, STORE_SHARE_FOR_TASKS } from './limits.js'
import { batchView, taskSummary, taskView } from './listing/view.js'
import type { PendingRuleTask } from './rules/index.js'
import type { Scheduler } from './scheduler.js'
import { fileOf, type Spool, sizeOf } from './spool.js'
import { newRow, requireSendable, withFileName } from './store/new-row.js'
import type { PendingTask, RowPage } from './store/records.js'
import { batchRows, taskRows } from './store/rows.js'
import { type StoreClient, StoreReadOnlyError } from './store/store-client.js'
import type { Task, TaskStatus, TaskType } from './task.js'
import type { InstanceStore, Page, TaskPaging, Tasks, WebhookStore } from './tasks.js'
import { formatDate } from './time.js'
import { verifyQueue } from './verify.js'
import type { Waiting } from './waiting.js'

/** The services that the queue calls. */
interface QueueParts {
  readonly engine: Engine
  readonly store: StoreClient
  readonly spool: Spool
  readonly catalogue: Catalogue
  readonly rules: StoredRules
  readonly scheduler: Pick<Scheduler, 'interrupt' | 'wake' | 'isIndexing' | 'progress'>
  readonly changes: TaskChanges
  readonly waiting: Waiting
  /** Path of the store's file. */
  readonly path: string
  /** Largest size of that file. */
  readonly storeBytesMax: number
  /** True if row changes are sent to a bucket. */
  readonly isSent: boolean
  readonly runScript: RunScript
}

/** Creates the durable queue and the catalogue for the routes. */
export function queue(parts: QueueParts): Tasks {
  const { engine, store, spool, catalogue, rules, scheduler, changes, waiting } = parts
  const { path, storeBytesMax, isSent, runScript } = parts
  const get = async (uid: number, visibleIndexes: readonly string[] | null): Promise<Task | null> => {
    const row = await store.call('task', [uid, visibleIndexes])
    return row === null ? null : taskView(row)
  }
  return {
    spool: async (format) => spool.slot(format),

    async checkFunction(source) {
      const documents = Buffer.from('{"results":[]}')
      await runScript({ function: source, context: null, primaryKey: null, timeMsMax: 0, documents })
    },

    async enqueue(task) {
      const content = withFileName(task.content)
      try {
        const row = newRow(task, content)
        if (isSent) requireSendable(row)
        const appended = await store.call('append', [row])
        // The request names the uids, so a running batch with one of these tasks can be interrupted at once.
        if (content.kind === 'taskCancelation') scheduler.interrupt(content.tasks)
        scheduler.wake()
        changes.emit({ taskUids: [appended.uid], batchUid: null, hasEnded: false })
        const { indexUid, type, customMetadata } = row
        return taskSummary({ ...appended, indexUid, type, customMetadata })
      } catch (error) {
        // After a doubtful failure the task may turn out to be stored, and then needs its upload. If it is not stored,
        // the next start removes the file.
        const isDoubtful = error instanceof StoreReadOnlyError && error.isDoubtful
        const file = isDoubtful ? null : fileOf(content)
        if (file !== null) await spool.remove(file)
        throw error
      }
    },

    get,

    async wait(uid, visibleIndexes, options) {
      const waiter = waiting.register(uid)
      try {
        const task = await get(uid, visibleIndexes)
        if (waiter === null || task === null || task.finishedAt !== null) return task
        await waiter.end(options)
        return options.signal?.aborted ? task : await get(uid, visibleIndexes)
      } finally {
        waiter?.release()
      }
    },

    onChange: (listener) => changes.listen(listener),

    async documents(uid) {
      const [task] = await store.call('pending', [[uid]])
      if (task?.content.kind !== 'documents') return null
      const { payload, payloadBytes } = task.content
      await spool.check(payload, payloadBytes).catch(async (error: unknown) => {
        // An upload is removed when its task ends, which may have happened after the task was read.
        if ((await store.call('pending', [[uid]])).length > 0) throw error
      })
      const lines = documentLines(
        'text' in payload ? payload : { ...payload, path: spool.pathOf(payload.path) },
      )
      // Reading the first line opens the file. Until then the task may end and its upload be removed.
      const first = await lines.next().catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null
        throw error
      })
      return first === null ? null : following(first, lines)
    },

    compact: () => store.compact(),

    async list(filter, paging) {
      const found = await store.call('tasks', [filter, paging])
      return page(taskRows(found.rows, paging.reverse), found, paging, (row) => taskView(row))
    },

    match: (filter) => store.call('match', [filter]),

    async batch(uid, visibleIndexes) {
      const row = await store.call('batch', [uid, visibleIndexes])
      return row === null
        ? null
        : batchView(row, row.finishedAt === null ? await scheduler.progress(uid) : null)
    },

    async batches(filter, paging) {
      const found = await store.call('batches', [filter, paging])
      const rows = batchRows(found.rows, paging.reverse)
      const progress = new Map<number, unknown>()
      for (const { uid, finishedAt } of rows)
        if (finishedAt === null) progress.set(uid, await scheduler.progress(uid))
      return page(rows, found, paging, (row) => batchView(row, progress.get(row.uid) ?? null))
    },

    index: (uid) => catalogue.entry(uid),
    indexes: () => catalogue.entries(),
    onIndexes: (listener) => catalogue.onChange(listener),
    rules: () => rules.book(),

    async pendingRuleTasks() {
      const types: TaskType[] = ['dsrUpdate', 'dsrClear']
      const statuses: TaskStatus[] = ['enqueued', 'processing']
      const uids = (await store.call('match', [{ types, statuses }])).slice(0, PENDING_RULE_TASKS_MAX)
      const found: PendingRuleTask[] = []
      for (let at = 0; at < uids.length; at += PENDING_TASKS_READ)
        for (const task of await store.call('pending', [uids.slice(at, at + PENDING_TASKS_READ)]))
          found.push(ruleTask(task))
      return found
    },

    isIndexing: (uid) => scheduler.isIndexing(uid),

    lastUpdate() {
      const last = catalogue.lastUpdate()
      return last === null ? null : formatDate(last)
    },

    verify: () => verifyQueue({ engine, store, spool, rows: catalogue.rows() }),

    async bytes() {
      const sizes = await Promise.all([sizeOf(path), sizeOf(`${path}-wal`), spool.bytes()])
      return sizes.reduce((sum, size) => sum + size, 0)
    },

    counts: () => store.call('counts', []),

    async load(indexesMax) {
      const { bytesUsed, waiting } = await store.call('load', [indexesMax])
      return {
        storeBytesMax,
        storeBytesUsed: bytesUsed,
        storeBytesLeft: Math.max(0, Math.floor(storeBytesMax * STORE_SHARE_FOR_TASKS) - bytesUsed),
        waiting: waiting.map(({ oldestEnqueuedAt, ...rest }) => ({
          ...rest,
          oldestEnqueuedAt: formatDate(oldestEnqueuedAt),
        })),
      }
    },
  }
}

/** Returns the elements after a first one was read. Not a generator: one that never began would not end `rest`. */
function following(
  first: IteratorResult<string>,
  rest: AsyncGenerator<string>,
): AsyncIterableIterator<string> {
  let isFirst = true
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      if (!isFirst) return rest.next()
      isFirst = false
      return first
    },
    return: () => rest.return(undefined),
  }
}

/** Creates the access to the small durable tables other than the tasks. */
export function instanceStore(store: StoreClient): InstanceStore {
  return {
    keys: () => store.call('keys', []),
    putKey: (key) => store.call('putKey', [key]),
    deleteKey: (uid) => store.call('deleteKey', [uid]),
    value: (name) => store.call('value', [name]),
    putValue: (name, value) => store.call('putValue', [name, value]),
    deleteValue: (name) => store.call('deleteValue', [name]),
    valueNames: (prefix) => store.call('valueNames', [prefix]),
    isCopy: false,
    onReplaced: () => undefined,
  }
}

/** Creates the access to webhooks and their cursors. */
export function webhookStore(store: StoreClient, changes: TaskChanges): WebhookStore {
  return {
    all: () => store.call('webhooks', []),
    put: (webhook, webhooksMax) => store.call('putWebhook', [webhook, webhooksMax]),
    delete: (uuid) => store.call('deleteWebhook', [uuid]),
    launch: (isGiven) => store.call('launchWebhook', [isGiven]),
    next: (uuid) => store.call('nextDelivery', [uuid]),
    tasks: async (...given) => (await store.call('deliveryRows', given)).map(taskView),
    delivered: (uuid, batchUid) => store.call('delivered', [uuid, batchUid]),
    onBatch: (listener) =>
      changes.listen(({ hasEnded }) => {
        if (hasEnded) listener()
      }),
    onReplaced: () => undefined,
  }
}

function page<R extends { readonly uid: number }, V>(
  rows: readonly R[],
  { total, shown }: RowPage,
  { limit }: TaskPaging,
  view: (row: R) => V,
): Page<V> {
  return {
    results: rows.slice(0, shown).map(view),
    total,
    limit,
    from: shown === 0 ? null : (rows[0]?.uid ?? null),
    // The store returns one more row than the page displays: the start of the next page.
    next: rows[shown]?.uid ?? null,
  }
}

function ruleTask({ row, content }: PendingTask): PendingRuleTask {
  const { uid, patch } = content.kind === 'dsrUpdate' ? content : { uid: null, patch: null }
  return { uid: row.uid, enqueuedAt: formatDate(row.enqueuedAt), ruleUid: uid, patch }
}
