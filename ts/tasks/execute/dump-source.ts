/** What does a dump consist of? */
import type { Engine } from '../../engine/index.js'
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

/**
 * The instance as it was when the dump began. While it is read, no other batch commits, and tasks that
 * arrive are left out; keys, webhooks and features may change.
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
  /** Number of tasks when the dump began. */
  readonly taskCount: number
  /** All tasks, ascending by uid. */
  tasks(): AsyncIterable<DumpedTask>
  batches(): AsyncIterable<DumpedBatch>
  /** The documents of a waiting upload, one a line. */
  documents(upload: Extract<TaskContent, { readonly kind: 'documents' }>): AsyncIterable<string>
  /** Aborted when the task was canceled. */
  readonly signal: AbortSignal
  /** Enters a step. */
  step(name: string, place: StepProgress): void
  /** Sets the progress within the step. @param unit such as `document` */
  count(unit: string, finished: number, total: number): void
  /** Reports an index that is not in the dump. @param damage why */
  leaveOut(index: IndexEntry, damage: string): void
}

/**
 * Writes a dump, whole or not at all; resolves to its uid.
 * @throws ApiError `io_error` if it cannot be written
 */
export type WriteDump = (source: DumpSource) => Promise<string>
