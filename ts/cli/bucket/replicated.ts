import type { Replicated } from '../../http/index.js'
import type { LaunchOptions } from '../../launch/index.js'
import { type Follower, positionText, readPosition, type Sender } from '../../replication/index.js'
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

/** The bucket as routes of a follower see it. @param staleSecondsMax after which clients should ask another server */
const following = (follower: Follower, staleSecondsMax: number): Replicated => ({
  async figures() {
    const { position, staleSeconds, writer } = follower.figures()
    return {
      ...{ role: 'follower', position, unsentTransactions: 0, awaySeconds: 0, staleSeconds },
      ...{ leadConfirmed: null, writer },
    }
  },
  isTooStale() {
    const { staleSeconds } = follower.figures()
    return staleSeconds === null || staleSeconds > staleSecondsMax
  },
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
