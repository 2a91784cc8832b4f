import { setTimeout as sleep } from 'node:timers/promises'
import type { LaunchOptions } from '../launch/index.js'
import type { Outbound } from '../outbound/index.js'
import { POLL_HEADER } from './elect/role-of.js'
import type { Follower, FollowerFigures } from './follow/follower.js'
import { positionText, readPosition } from './log/position.js'
import type { PositionWatch } from './position-watch.js'
import type { Sender } from './publish/sender.js'
import type { HandoverOutcome } from './publish/sender-setup.js'
import type { ReplicatedInstance } from './replicated-instance.js'

/** Replication state of a server with a bucket. */
export interface ReplicationFigures {
  readonly role: 'writer' | 'follower'
  /** The last log record that was sent or served; null: not known yet. */
  readonly position: number | null
  /** Transactions that the bucket does not have yet; 0 for a follower. */
  readonly unsentTransactions: number
  /** Seconds since calls to the bucket began to fail; 0: they succeed. */
  readonly awaySeconds: number
  /** Seconds since the start of the last read that reached the end of the log; null: there was none. */
  readonly staleSeconds: number | null
  /** True if the leader knows that no other server took over, except in the last seconds; null: this is a follower. */
  readonly leadConfirmed: boolean | null
  /** URL of the leader; null: unknown. */
  readonly writer: string | null
  /** True for a leader that has lost the bucket and that a candidate should replace; null: this is a follower. */
  readonly replaceable: boolean | null
  /** Why a follower cannot read the log although the bucket answers, and what to do; null: it can. */
  readonly problem: string | null
}

/** Replication services for the routes. */
export interface Replicated {
  figures(): Promise<ReplicationFigures>
  /** Returns true if clients should use another server, because this one lags too far behind the leader. */
  isTooStale(): boolean
  /** Position of the last write of this server; null: it is a follower. */
  position(): Promise<string | null>
  /** Waits for a position. Returns true if this server reached it in time; null: the text is not a position. */
  reaches(position: string): Promise<boolean | null>
  /** Waits until this server has everything written before the call. @returns false: it does not in time */
  catchesUp(): Promise<boolean>
  /** Waits until the log has everything that this server has shown. @returns false: it does not in time */
  settles(): Promise<boolean>
  /** Returns the server that accepts writes. Waits while the leader changes. */
  leader(): Promise<Leader>
  /** True for a leader that does not reach the bucket: it cannot tell followers of new records. */
  isCutOff(): boolean
  /** Makes a follower read the log at once. */
  nudge(): void
  /** The last log record that this server has written or serves. */
  readonly watch: PositionWatch
  /**
   * Lets another server lead. A leader whose successor is late restarts.
   * @param to address of the successor; null: any
   */
  handOver(to: string | null): Promise<HandoverOutcome>
  /** Header of requests for `nudge`. */
  readonly pollHeader: string
  /** Passes requests on to the leader. */
  readonly peers: Pick<Outbound, 'call' | 'pass'>
  /** True if every read waits for `catchesUp`. */
  readonly isStrong: boolean
}

/** The server that accepts writes: this one, one at an address, or none that is known. */
export type Leader = 'self' | { readonly address: string } | null

/** Milliseconds for which a request waits for the position of its client. */
const REACH_MS = 5_000

type Common = Pick<Replicated, 'peers' | 'isStrong' | 'pollHeader' | 'watch'>

/** Returns true if a promise resolves within so many milliseconds. */
async function isDone(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const limit = new AbortController()
  const late = sleep(ms, false, { signal: limit.signal }).catch(() => false)
  const done = promise.then(
    () => true,
    () => false,
  )
  const isInTime = await Promise.race([done, late])
  limit.abort()
  return isInTime
}

/** Replication state of a writer, for HTTP routes. */
const writing = (sender: Sender, restart: () => void, common: Common): Replicated => ({
  ...common,
  async figures() {
    const { position, unsent, awaySeconds, staleSeconds, isConfirmed, isReplaceable } = await sender.figures()
    return {
      ...{ role: 'writer', position, unsentTransactions: unsent, awaySeconds, staleSeconds },
      ...{ leadConfirmed: isConfirmed, writer: null, replaceable: isReplaceable, problem: null },
    }
  },
  isTooStale: () => false,
  async position() {
    const position = await sender.position()
    return position && positionText(position)
  },
  async reaches(text) {
    const position = readPosition(text)
    return position && sender.reaches(position)
  },
  catchesUp: () => sender.confirms(REACH_MS),
  async settles() {
    const { unsent, hasCheckpoint } = await sender.figures()
    return unsent === 0 || !hasCheckpoint || isDone(sender.acknowledged(), REACH_MS)
  },
  async leader() {
    const leader = await sender.leader()
    return leader === 'self' || leader === null ? 'self' : { address: leader }
  },
  isCutOff: () => sender.isCutOff,
  nudge: () => undefined,
  async handOver(to) {
    const outcome = await sender.handOver(to)
    if (outcome?.kind === 'late') restart()
    return outcome
  },
})

/**
 * Returns true if clients should use another server. False while the bucket does not answer, since no other follower
 * has newer data then.
 * @param staleSecondsMax longest accepted lag
 */
export const isTooStale = (
  { staleSeconds, awaySeconds }: Pick<FollowerFigures, 'staleSeconds' | 'awaySeconds'>,
  staleSecondsMax: number,
): boolean => awaySeconds === 0 && (staleSeconds === null || staleSeconds > staleSecondsMax)

/** Replication state of a follower, for HTTP routes. */
const following = (
  follower: Follower,
  { followStaleAfter: staleSecondsMax, advertisedUrl }: LaunchOptions,
  common: Common,
): Replicated => ({
  ...common,
  async figures() {
    const common = {
      role: 'follower',
      unsentTransactions: 0,
      leadConfirmed: null,
      replaceable: null,
    } as const
    return { ...common, ...follower.figures() }
  },
  isTooStale: () => isTooStale(follower.figures(), staleSecondsMax),
  position: async () => null,
  async reaches(text) {
    const position = readPosition(text)
    return position && follower.reaches(position, REACH_MS)
  },
  catchesUp: () => follower.meetsEnd(REACH_MS),
  settles: async () => true,
  async leader() {
    if (follower.promotion === null) {
      const { writer, position } = follower.figures()
      if (writer !== null) return { address: writer }
      // The leader has no address. The refusal of this server says so.
      return position === null ? null : 'self'
    }
    await follower.promotion
    // This application belongs to the former follower, so the request goes to the one of the leader.
    return advertisedUrl === null ? null : { address: advertisedUrl }
  },
  isCutOff: () => false,
  nudge: () => follower.nudge(),
  handOver: async () => null,
})

/** Replication state for HTTP routes; null: this server neither sends nor follows. */
export function replicatedBy(
  { sender, follower, watch, restart = () => undefined }: ReplicatedInstance,
  options: LaunchOptions,
  peers: Replicated['peers'],
): Replicated | null {
  if (watch === null) return null
  const common = { peers, watch, pollHeader: POLL_HEADER, isStrong: options.readConsistency === 'strong' }
  if (follower !== null) return following(follower, options, common)
  return sender && writing(sender, restart, common)
}
