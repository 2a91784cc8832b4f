/** Counts and logs failures of background work. */
import type { IndexId } from './index-id.js'

/** Kinds of background work, as named by the metric that counts faults. */
export const backgroundFaultKinds = [
  'deferred_column',
  'dictionary_read_ahead',
  'directory_sync',
  'file_removal',
  'http_thread',
  'log_rewrite',
  'search_record',
  'segment_merge',
  'snapshot_write',
  'task_store_checkpoint',
  'upload_removal',
  'vector_graph',
  'word_dictionary',
] as const

export type BackgroundFaultKind = (typeof backgroundFaultKinds)[number]

/** A failure of background work. Acknowledged writes are not affected, and the work is retried later. */
export interface BackgroundFault {
  readonly kind: BackgroundFaultKind
  /** null: the work did not belong to a single index. */
  readonly index: IndexId | null
  /** The affected file or directory. */
  readonly file: string
  /** The error in one line. */
  readonly reason: string
}

export type ReportFault = (fault: BackgroundFault) => void

/** Logs the faults of one data directory and counts them. */
export class BackgroundFaults {
  readonly #log: { warn(facts: object, message: string): void }
  readonly #counts = new Map<BackgroundFaultKind, number>(backgroundFaultKinds.map((kind) => [kind, 0]))

  constructor(log: { warn(facts: object, message: string): void }) {
    this.#log = log
  }

  /** Faults by kind since the process started; kinds that never occurred count 0. */
  get counts(): ReadonlyMap<BackgroundFaultKind, number> {
    return this.#counts
  }

  readonly report: ReportFault = (fault) => {
    this.#counts.set(fault.kind, (this.#counts.get(fault.kind) ?? 0) + 1)
    this.#log.warn(fault, 'work in the background failed')
  }
}

/** Message of a thrown value. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
