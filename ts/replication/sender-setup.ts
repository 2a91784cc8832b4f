/** What a sender works with, and what it tells of itself. */
import type { LogWriter, Reachability } from '../bucket/index.js'
import type { OutgoingChanges } from '../tasks/index.js'
import type { Timing } from './alarm.js'
import type { Garbage } from './garbage.js'
import type { Shipper } from './shipper.js'

export interface SenderLog {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** What sends, once the log was taken over. */
export interface Sending {
  readonly shipper: Pick<
    Shipper,
    | 'ahead'
    | 'beginBase'
    | 'end'
    | 'isBaseDue'
    | 'newestBase'
    | 'references'
    | 'refresh'
    | 'sent'
    | 'settled'
    | 'ship'
    | 'upload'
  >
  readonly writer: Pick<LogWriter, 'epoch' | 'look' | 'next' | 'yieldAsked'>
  readonly garbage: Pick<Garbage, 'sweep'>
}

/** When clients are told that a write is stored. `bucket`: once another server that starts from there would have it. */
export type Acknowledgement = 'local' | 'bucket'

/** How often things are done. */
export interface Pace {
  /** Milliseconds between two sweeps for garbage. */
  readonly garbageMs: number
  /** Milliseconds after which a base is tried again that could not be made. */
  readonly baseRetryMs: number
}

export interface SenderSetup {
  readonly outgoing: Pick<OutgoingChanges, 'beforeRecord' | 'facts' | 'sync' | 'uploads'>
  readonly ack: Acknowledgement
  /** Tells whether the bucket answers the calls of `outgoing`, `connect` and what that gives. */
  readonly reachability: Pick<Reachability, 'awayMs'>
  /** Takes over the log; tried again after each failure that another server is not the reason of. */
  readonly connect: (signal: AbortSignal) => Promise<Sending>
  /** What `connect` gave already; null: it was not called yet. */
  readonly sending: Sending | null
  /** Whether no other server ever takes over: then writes are taken before the log was taken over. Absent: false. */
  readonly isSole?: boolean
  /** Milliseconds between two looks for changes that no client waits for. */
  readonly intervalMs: number
  readonly log: SenderLog
  /** Absent: that of the process. */
  readonly timing?: Timing
  /** Absent: as in `limits.ts`. */
  readonly pace?: Pace
  /** Called once, when another writer has taken over: from then on nothing is sent. @param hasLed whether this one ever wrote */
  readonly onFenced: (hasLed: boolean) => void
}

/** What is told of the way to the bucket. */
export interface SenderFigures {
  /** Number of the last entry of the log; null: the log was not taken over yet. */
  readonly position: number | null
  /** Transactions that the bucket does not have. */
  readonly unsent: number
  /** Seconds since the bucket answered last, while calls fail; else 0. */
  readonly awaySeconds: number
  /** Seconds since the start of the last call that met the end of the log; null: none has. */
  readonly staleSeconds: number | null
  /** Whether that was so short a while ago that hardly another server writes. */
  readonly isConfirmed: boolean
  readonly isFenced: boolean
}
