/** The contents of a dump. */
import type { Rule } from '../rules/index.js'
import type { StoredWebhook } from '../store/stored-webhook.js'
import type { BatchView, Task, TaskContent } from '../task.js'
import type { IndexEntry, StoredKey } from '../tasks.js'
import type { StepProgress } from './step-progress.js'

export interface DumpedTask {
  readonly task: Task
  /** Second name that lists a finished rename. */
  readonly newIndexUid: string | null
  /** Content of a waiting task; null once it has ended. */
  readonly content: TaskContent | null
  /** Data that only another service reads, if the finished task was imported from there; else null. */
  readonly foreign: Readonly<Record<string, unknown>> | null
}

/** A finished batch in a dump. Dates are RFC 3339, UTC. */
export interface DumpedBatch {
  readonly batch: BatchView
  /** Arrival times of its oldest and newest task. */
  readonly oldestEnqueuedAt: string
  readonly newestEnqueuedAt: string
}

/** An instance that is being dumped. */
export interface DumpSource {
  readonly startedAt: Date
  /**
   * Freezes the state of the instance and copies the task store to `storePath`, which must not exist. Called once.
   * Later changes to tasks or documents are not in the dump.
   */
  freeze(storePath: string): Promise<FrozenInstance>
  /** Aborted when the task is canceled. */
  readonly signal: AbortSignal
  /** Enters a step. */
  step(name: string, place: StepProgress): void
  /** Sets the progress within the step. @param unit such as `document` */
  count(unit: string, finished: number, total: number): void
}

/** The frozen state of an instance. */
export interface FrozenInstance {
  /** Ascending by uid. */
  readonly indexes: readonly FrozenDocuments[]
  readonly rules: readonly Rule[]
  keys(): Promise<readonly StoredKey[]>
  /** Same as `InstanceStore.value`. */
  value(name: string): Promise<unknown>
  /** Same as `InstanceStore.valueNames`. */
  valueNames(prefix: string): Promise<readonly string[]>
  webhooks(): Promise<readonly StoredWebhook[]>
  readonly taskCount: number
  /** All tasks, ascending by uid. The dump's own task appears as succeeded. */
  tasks(): AsyncIterable<DumpedTask>
  /** Finished batches, ascending by uid. The dump's own batch appears as succeeded. */
  batches(): AsyncIterable<DumpedBatch>
  /** The documents of a waiting upload, one per line. */
  documents(upload: Extract<TaskContent, { readonly kind: 'documents' }>): AsyncIterable<string>
  /** Releases the frozen state. */
  release(): Promise<void>
}

/** Settings and documents of an index. */
export interface FrozenDocuments {
  readonly entry: IndexEntry
  /** JSON text of `IndexSettings`. */
  settings(): Promise<string>
  /** Lists documents. @param request `DocumentsRequest` without filter, ids and sort */
  list(request: Uint8Array): Promise<Uint8Array>
  /** Runs `read`. Returns null if the index turns out to be damaged and is therefore left out. */
  unlessDamaged<T>(read: () => Promise<T>): Promise<T | null>
}

/**
 * Writes a complete dump or nothing, and resolves to its uid.
 * @throws ApiError `io_error` if it cannot be written
 */
export type WriteDump = (source: DumpSource) => Promise<string>
