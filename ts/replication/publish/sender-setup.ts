/** Setup and state types of `Sender`. */

import type { OutgoingChanges } from '../../tasks/index.js'
import type { Timing } from '../interruptible-sleep.js'
import type { LogWriter, Reachability } from '../object-store/index.js'
import type { Garbage } from './garbage.js'
import type { Shipper } from './shipper.js'

export interface SenderLog {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** The parts that a sender uses after it has taken over the log. */
export interface Sending {
  readonly shipper: Pick<
    Shipper,
    | 'ahead'
    | 'beginCheckpoint'
    | 'end'
    | 'handOver'
    | 'isCheckpointDue'
    | 'newestCheckpoint'
    | 'references'
    | 'refresh'
    | 'sent'
    | 'settled'
    | 'ship'
    | 'upload'
  >
  readonly writer: Pick<LogWriter, 'epoch' | 'look' | 'next' | 'yieldRequest'>
  readonly garbage: Pick<Garbage, 'sweep'>
  /** Sends a heartbeat; null or absent: the leader sends none. */
  readonly beat?: ((count: number, signal: AbortSignal) => Promise<void>) | null
}

/** A pause of appends, so that another server can take over. */
export interface Yield {
  /** Id of the yield request. */
  readonly id: string
  /** Pending changes are sent until this time. */
  drainsUntil: number
  endsAt: number
}

/** When a write is acknowledged. `bucket`: once a server that starts from the bucket would have it. */
export type Acknowledgement = 'local' | 'bucket'

/** Intervals of background work. */
export interface Pace {
  /** Milliseconds between two garbage sweeps. */
  readonly garbageMs: number
  /** Milliseconds until a failed checkpoint is retried. */
  readonly checkpointRetryMs: number
}

export interface HandoverSetup {
  /** Stops running batches and begins no other. */
  readonly stopBatches: () => Promise<void>
  /**
   * Chooses a server that can take over; null: there is none.
   * @param to its address; null: any
   */
  readonly successor: (signal: AbortSignal, to: string | null) => Promise<Handee | null>
}

/** `done`: the successor has taken over. `late`: it did not in time. Null: there is no successor. */
export type HandoverOutcome = { readonly kind: 'done' | 'late'; readonly to: Handee } | null

/** A server that shall take over. */
export interface Handee {
  /** Identity of its data directory. */
  readonly id: string
  readonly address: string
  /** Asks it to read the log at once. */
  readonly nudge: () => void
}

export interface SenderSetup {
  readonly outgoing: Pick<OutgoingChanges, 'beforeRecord' | 'facts' | 'sync' | 'uploads'>
  readonly ack: Acknowledgement
  /** Tracks whether the bucket answers the calls that `connect` and its result make. */
  readonly reachability: Pick<Reachability, 'awayMs'>
  /** Takes over the log. Retried after each failure unless another server caused it. */
  readonly connect: (signal: AbortSignal) => Promise<Sending>
  /** The result of `connect`; null: it was not called yet. */
  readonly sending: Sending | null
  /** True if no other server ever takes over. Writes are accepted before the takeover then. Default: false. */
  readonly isSole?: boolean
  /** Milliseconds between two polls for changes that no client waits for. */
  readonly intervalMs: number
  readonly log: SenderLog
  /** Default: clock and timers of the process. */
  readonly timing?: Timing
  /** Default: see `limits.ts`. */
  readonly pace?: Pace
  /** Prepares a handover; absent: there is never a successor. */
  readonly handover?: HandoverSetup
  /**
   * Called once when another writer has taken over. Nothing is sent after.
   * @param hasLed true if this server was leader
   */
  readonly onFenced: (hasLed: boolean) => void
}

/** State of the sender, for metrics. */
export interface SenderFigures {
  /** Number of the last log record; null: the log was not taken over yet. */
  readonly position: number | null
  /** Number of transactions that the bucket does not have. */
  readonly unsent: number
  /** Seconds since the last answer of the bucket, while calls fail; else 0. */
  readonly awaySeconds: number
  /** Seconds since the start of the last call that reached the end of the log; null: none has. */
  readonly staleSeconds: number | null
  /** True if `staleSeconds` is so small that another writer is unlikely. */
  readonly isConfirmed: boolean
  /** False: no other server can have copied the instance yet. */
  readonly hasCheckpoint: boolean
  /** True if it has lost the bucket, and no acknowledged write would be lost if another server took over. */
  readonly isReplaceable: boolean
}
