/** Work that no caller waits for has failed: which work, on which file, and how often? */
import type { IndexId } from './engine.js'

/** Kinds of background work, as the counter of faults names them. */
export const backgroundFaultKinds = [
  'deferred_column',
  'dictionary_read_ahead',
  'directory_sync',
  'file_removal',
  'log_rewrite',
  'segment_merge',
  'snapshot_write',
  'task_store_checkpoint',
  'upload_removal',
  'vector_graph',
] as const

export type BackgroundFaultKind = (typeof backgroundFaultKinds)[number]

/** A failure of work in the background. What was acknowledged stands, and the work is tried again later. */
export interface BackgroundFault {
  readonly kind: BackgroundFaultKind
  /** null: the work was not of one index. */
  readonly index: IndexId | null
  /** The file or directory that the work was on. */
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

/** The text of anything thrown. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
