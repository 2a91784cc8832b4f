/** What does a dump consist of? */
import type { Rule } from '../../rules/index.js'
import type { StoredWebhook } from '../store/stored-webhook.js'
import type { BatchView, Task, TaskContent } from '../task.js'
import type { IndexEntry, StoredKey } from '../tasks.js'
import type { StepProgress } from './step-progress.js'

/** A task as a dump holds it. */
export interface DumpedTask {
  readonly task: Task
  /** Second name under which a finished rename is listed. */
  readonly newIndexUid: string | null
  /** Content of a task that waits; null once it has ended. */
  readonly content: TaskContent | null
  /** What a finished task of another service came with, which only that service reads; null for all others. */
  readonly foreign: Readonly<Record<string, unknown>> | null
}

/** A finished batch as a dump holds it. Dates are RFC 3339, UTC. */
export interface DumpedBatch {
  readonly batch: BatchView
  /** Arrival of its oldest and of its newest task. */
  readonly oldestEnqueuedAt: string
  readonly newestEnqueuedAt: string
}

/** An instance, and the dump that is being made of it. */
export interface DumpSource {
  readonly startedAt: Date
  /**
   * Holds the instance at one point, with a copy of the task store at `storePath`, where nothing may be. Called once.
   * What happens afterwards, to tasks or documents, is not in the dump.
   */
  freeze(storePath: string): Promise<FrozenInstance>
  /** Aborted when the task was canceled. */
  readonly signal: AbortSignal
  /** Enters a step. */
  step(name: string, place: StepProgress): void
  /** Sets the progress within the step. @param unit such as `document` */
  count(unit: string, finished: number, total: number): void
}

/** The instance at one point. */
export interface FrozenInstance {
  /** Ascending by uid. */
  readonly indexes: readonly FrozenDocuments[]
  readonly rules: readonly Rule[]
  keys(): Promise<readonly StoredKey[]>
  /** As `InstanceStore.value`. */
  value(name: string): Promise<unknown>
  webhooks(): Promise<readonly StoredWebhook[]>
  readonly taskCount: number
  /** All tasks, ascending by uid. The dump's own is shown as succeeded. */
  tasks(): AsyncIterable<DumpedTask>
  /** Finished batches, ascending by uid. The dump's own is shown as succeeded. */
  batches(): AsyncIterable<DumpedBatch>
  /** The documents of a waiting upload, one a line. */
  documents(upload: Extract<TaskContent, { readonly kind: 'documents' }>): AsyncIterable<string>
  /** Lets go of it. */
  release(): Promise<void>
}

/** Settings and documents of an index. */
export interface FrozenDocuments {
  readonly entry: IndexEntry
  /** JSON text of `IndexSettings`. */
  settings(): Promise<string>
  /** Lists documents. @param request `DocumentsRequest` without filter, ids and sort */
  list(request: Uint8Array): Promise<Uint8Array>
  /** What `read` gives; null if the index turned out to be damaged, and is left out. */
  soundly<T>(read: () => Promise<T>): Promise<T | null>
}

/**
 * Writes a dump, whole or not at all; resolves to its uid.
 * @throws ApiError `io_error` if it cannot be written
 */
export type WriteDump = (source: DumpSource) => Promise<string>
