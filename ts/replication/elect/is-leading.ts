import type { Outbound } from '../../outbound/index.js'
import { LEADER_ANSWER_MS } from './limits.js'

/** Longest answer of `GET /health`. */
const HEALTH_BYTES_MAX = 65_536

/** Returns true if the server at an address answers that it is the leader. */
export async function isLeading(peers: Pick<Outbound, 'call'>, address: string): Promise<boolean> {
  try {
    const { body } = await peers.call({
      method: 'GET',
      url: new URL('health', address.endsWith('/') ? address : `${address}/`).href,
      timeoutMs: LEADER_ANSWER_MS,
      answerBytesMax: HEALTH_BYTES_MAX,
    })
    const { replication } = JSON.parse(body.toString()) as {
      readonly replication?: { readonly role?: unknown }
    }
    return replication?.role === 'writer'
  } catch {
    return false
  }
}
