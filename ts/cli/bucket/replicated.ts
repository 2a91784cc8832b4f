import type { Replicated } from '../../http/index.js'
import type { LaunchOptions } from '../../launch/index.js'
import {
  type Follower,
  type FollowerFigures,
  positionText,
  readPosition,
  type Sender,
} from '../../replication/index.js'
import type { ReplicatedInstance } from './replicated-instance.js'

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
