import type { LaunchOptions } from '../launch/index.js'
import type { Follower, FollowerFigures } from './follow/follower.js'
import { positionText, readPosition } from './log/position.js'
import type { Sender } from './publish/sender.js'
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
}

/** Milliseconds for which a request waits for the position of its client. */
const REACH_MS = 5_000

/** Replication state of a writer, for HTTP routes. */
const writing = (sender: Sender): Replicated => ({
  async figures() {
    const { position, unsent, awaySeconds, staleSeconds, isConfirmed } = await sender.figures()
    return {
      ...{ role: 'writer', position, unsentTransactions: unsent, awaySeconds, staleSeconds },
      ...{ leadConfirmed: isConfirmed, writer: null },
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

/** Replication state of a follower, for HTTP routes. @param staleSecondsMax see `isTooStale` */
const following = (follower: Follower, staleSecondsMax: number): Replicated => ({
  async figures() {
    return { role: 'follower', unsentTransactions: 0, leadConfirmed: null, ...follower.figures() }
  },
  isTooStale: () => isTooStale(follower.figures(), staleSecondsMax),
  position: async () => null,
  async reaches(text) {
    const position = readPosition(text)
    return position && follower.reaches(position, REACH_MS)
  },
})

/** Replication state for HTTP routes; null: this server neither sends nor follows. */
export function replicatedBy(
  { sender, follower }: ReplicatedInstance,
  options: LaunchOptions,
): Replicated | null {
  if (follower !== null) return following(follower, options.followStaleAfter)
  return sender && writing(sender)
}
