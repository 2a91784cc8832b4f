import type { IndexStats } from '../../engine/index.js'
import { type IndexEntry, taskStatuses, taskTypes } from '../../tasks/index.js'
import { WAITING_INDEXES_MAX } from '../limits.js'
import type { LoopFigures } from '../loop-figures.js'
import type { Measured, Report } from './report.js'

/** Reports sizes of the data and the load of searches. */
export async function reportInstance(
  services: Measured,
  loops: readonly LoopFigures[],
  report: Report,
): Promise<void> {
  const { engine, tasks, searches, options } = services
  const indexes = tasks.indexes()
  const stats = (await Promise.all(indexes.map((entry) => statsOf(services, entry)))).filter(
    (found) => found !== null,
  )
  const bytes = stats.reduce((sum, [, one]) => sum + one.indexSize, await tasks.bytes())
  report.gauge('meilisearch_db_size_bytes', 'bytes on disk', bytes)
  report.gauge('meilisearch_used_db_size_bytes', 'bytes on disk in use', bytes)
  report.gauge('meilisearch_index_count', 'indexes', indexes.length)
  report.gauge(
    'siftd_damaged_index_count',
    'damaged indexes',
    indexes.filter(({ id }) => engine.damage(id) !== null).length,
  )
  const documents = report.gauges('meilisearch_index_docs_count', 'documents per index', ['index'])
  for (const [index, one] of stats) documents.set({ index }, one.numberOfDocuments)
  const updated = tasks.lastUpdate()
  report.gauge(
    'meilisearch_last_update',
    'when an index last changed, in Unix seconds',
    updated === null ? 0 : Date.parse(updated) / 1000,
  )
  const sum = (of: (loop: LoopFigures) => number): number => loops.reduce((so, loop) => so + of(loop), 0)
  report.gauge(
    'meilisearch_search_queue_size',
    'searches that may wait',
    options.searchesWaitingMax + sum(({ waitingMax }) => waitingMax),
  )
  report.gauge(
    'meilisearch_searches_running',
    'searches running',
    searches.running + sum(({ running }) => running),
  )
  report.gauge(
    'meilisearch_searches_waiting_to_be_processed',
    'searches waiting for their turn',
    searches.waiting + sum(({ waiting }) => waiting),
  )
}

/** Reports how far this server is ahead of its bucket or behind its leader. */
export async function reportReplication({ replicated, cells }: Measured, report: Report): Promise<void> {
  if (cells)
    report.gauge('siftd_placement_version', 'version of the placement in use', cells.placement.version)
  if (!replicated) return
  const { position, unsentTransactions, awaySeconds, staleSeconds } = await replicated.figures()
  if (position !== null) report.gauge('siftd_bucket_position', 'last record of the log', position)
  report.gauge(
    'siftd_bucket_unsent_transactions',
    'transactions that the bucket does not have yet',
    unsentTransactions,
  )
  report.gauge('siftd_bucket_away_seconds', 'seconds since calls to the bucket began to fail', awaySeconds)
  if (staleSeconds !== null)
    report.gauge(
      'siftd_follower_stale_seconds',
      'seconds since the end of the log was last reached',
      staleSeconds,
    )
}

/** Returns null for an index that is damaged or was deleted in the meantime. */
async function statsOf(
  { engine, tasks }: Measured,
  { uid, id }: IndexEntry,
): Promise<readonly [string, IndexStats] | null> {
  try {
    return [uid, await engine.stats(id)]
  } catch (error) {
    if (engine.damage(id) !== null || tasks.index(uid)?.id !== id) return null
    throw error
  }
}

/** Reports numbers of tasks by status, type and index. */
export async function reportTasks({ tasks }: Measured, report: Report): Promise<void> {
  const { statuses, types, indexes } = await tasks.counts()
  const counts = report.gauges('meilisearch_nb_tasks', 'tasks by kind', ['kind', 'value'])
  const processing = statuses.get('processing') ?? 0
  report.gauge('meilisearch_is_indexing', 'whether a task is being processed', processing > 0 ? 1 : 0)
  for (const status of taskStatuses)
    counts.set({ kind: 'statuses', value: status }, statuses.get(status) ?? 0)
  for (const type of taskTypes) counts.set({ kind: 'types', value: type }, types.get(type) ?? 0)
  for (const { uid } of tasks.indexes()) counts.set({ kind: 'indexes', value: uid }, indexes.get(uid) ?? 0)
}

/** Reports how long tasks wait, how many, and how full the task store is. */
export async function reportWaiting({ tasks }: Measured, report: Report): Promise<void> {
  const unfinished = { statuses: ['enqueued', 'processing'] } as const
  const { results } = await tasks.list(unfinished, { limit: 1, from: null, reverse: true })
  report.gauge(
    'meilisearch_task_queue_latency_seconds',
    'age of the oldest unfinished task',
    results[0] === undefined ? 0 : secondsSince(results[0].enqueuedAt),
  )
  const load = await tasks.load(WAITING_INDEXES_MAX)
  report.gauge('meilisearch_task_queue_max_size', 'largest size of the task store, bytes', load.storeBytesMax)
  report.gauge(
    'meilisearch_task_queue_used_size',
    'bytes of the task store in use, without uploads',
    load.storeBytesUsed,
  )
  report.gauge(
    'meilisearch_task_queue_size_until_stop_registering',
    'bytes that the task store may grow by before new tasks are refused',
    load.storeBytesLeft,
  )
  const labels = ['index']
  const waiting = report.gauges('siftd_index_tasks_waiting', 'tasks of an index that have not begun', labels)
  const oldest = report.gauges(
    'siftd_index_queue_latency_seconds',
    'age of the oldest task of an index that has not begun',
    labels,
  )
  for (const { indexUid, tasks: count, oldestEnqueuedAt } of load.waiting) {
    // No index has an empty name. It stands for tasks of no index or of several.
    const index = indexUid ?? ''
    waiting.set({ index }, count)
    oldest.set({ index }, secondsSince(oldestEnqueuedAt))
  }
}

const secondsSince = (date: string): number => Math.max(0, (Date.now() - Date.parse(date)) / 1000)
