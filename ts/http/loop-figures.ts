import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import type { CachedKind } from '../engine/index.js'

/** Figures of a thread that answers searches, to be added to those of the main thread. */
export interface LoopFigures {
  readonly metrics: readonly MetricObjectWithValues<MetricValue<string>>[]
  readonly answers: CachedKind
  /** Searches that may wait in this thread. */
  readonly waitingMax: number
  /** Running searches. */
  readonly running: number
  /** Searches that wait for their turn. */
  readonly waiting: number
}

/** The threads that answer searches next to the main thread. */
export interface OtherLoops {
  /** Returns figures of each thread. Log lines and counts of earlier requests have arrived when it resolves. */
  figures(): Promise<readonly LoopFigures[]>
}
