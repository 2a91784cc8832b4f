/** Messages between `EngineWorker` and its thread. */
import type { ErrorCode } from '../../../errors/index.js'
import type { BackgroundFault } from '../../background-faults.js'
import type { BareEngine } from '../../engine.js'

/** Calls that are sent to a worker: all of `BareEngine` except `kind`, and those that keep copies of indexes. */
export type Call = Exclude<keyof BareEngine, 'kind'> | 'newestCommit' | 'catchUp' | 'forget'

export interface CallMessage {
  readonly id: number
  readonly call: Call
  readonly args: readonly unknown[]
}

export type AnswerMessage =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  /** `code` is null for our own faults. */
  | {
      readonly id: number
      readonly ok: false
      readonly code: ErrorCode | null
      readonly message: string
      /** Empty for a requested stop, which is not logged. */
      readonly stack: string
    }

/** Sent when background work failed. */
export interface FaultMessage {
  readonly fault: BackgroundFault
}
