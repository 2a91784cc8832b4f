import type { Outbound } from '../../outbound/index.js'
import { LEADER_ANSWER_MS } from './limits.js'

/** Request header of `GET /health`: a follower reads the log at once. */
export const POLL_HEADER = 'x-siftd-poll'

/** Longest answer of `GET /health`. */
const HEALTH_BYTES_MAX = 65_536

/** `lost`: a leader that has lost the bucket and should be replaced. */
export type PeerRole = 'writer' | 'lost' | 'follower'

/** Asks a server of the bucket for its role, and to read the log at once. @returns null: it does not answer */
export async function roleOf(peers: Pick<Outbound, 'call'>, address: string): Promise<PeerRole | null> {
  try {
    const { body } = await peers.call({
      method: 'GET',
      url: new URL('health', address.endsWith('/') ? address : `${address}/`).href,
      headers: { [POLL_HEADER]: '1' },
      timeoutMs: LEADER_ANSWER_MS,
      answerBytesMax: HEALTH_BYTES_MAX,
    })
    const { replication } = JSON.parse(body.toString()) as {
      readonly replication?: { readonly role?: unknown; readonly replaceable?: unknown }
    }
    const role = replication?.role
    if (role === 'writer' && replication?.replaceable === true) return 'lost'
    return role === 'writer' || role === 'follower' ? role : null
  } catch {
    return null
  }
}
