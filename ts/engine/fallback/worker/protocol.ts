/** What the proxy and its worker say to each other. */
import type { ErrorCode } from '../../../errors/index.js'
import type { BackgroundFault } from '../../background-faults.js'
import type { BareEngine } from '../../engine.js'

/** Calls that cross to the worker: all of `BareEngine` but its name. */
export type Call = Exclude<keyof BareEngine, 'kind'>

export interface CallMessage {
  readonly id: number
  readonly call: Call
  readonly args: readonly unknown[]
}

export type AnswerMessage =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  /** `code` is null for faults of ours. */
  | {
      readonly id: number
      readonly ok: false
      readonly code: ErrorCode | null
      readonly message: string
      /** Empty for what was asked for: then there is nothing to log. */
      readonly stack: string
    }

/** Sent unasked, when work failed that no call waits for. */
export interface FaultMessage {
  readonly fault: BackgroundFault
}
