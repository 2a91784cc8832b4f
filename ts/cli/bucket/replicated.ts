import type { Replicated } from '../../http/index.js'
import type { LaunchOptions } from '../../launch/index.js'
import {
  type Follower,
  type FollowerFigures,
  positionText,
  readPosition,
  type Sender,
} from '../../replication/index.js'
import type { Kept } from './kept.js'

/** Milliseconds for which a request waits for what its client has seen elsewhere. */
const REACH_MS = 5_000

/** The bucket as routes of a server that writes see it. */
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
 * Whether clients should ask another server. While the bucket does not answer they should not: no other follower knows more.
 * @param staleSecondsMax for which a follower may lag
 */
export const isTooStale = (
  { staleSeconds, awaySeconds }: Pick<FollowerFigures, 'staleSeconds' | 'awaySeconds'>,
  staleSecondsMax: number,
): boolean => awaySeconds === 0 && (staleSeconds === null || staleSeconds > staleSecondsMax)

/** The bucket as routes of a follower see it. @param staleSecondsMax see `isTooStale` */
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

/** The bucket as routes see it; null: nothing is sent to one, and nothing followed. */
export function replicatedBy({ sender, follower }: Kept, options: LaunchOptions): Replicated | null {
  if (follower !== null) return following(follower, options.followStaleAfter)
  return sender && writing(sender)
}
