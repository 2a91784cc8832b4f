import { withoutTrailing } from '../../operations/index.js'
import type { Outbound } from '../../outbound/index.js'
import { REMOTE_STATE_MS_MAX } from './limits.js'
import type { Network, Remote } from './network-book.js'

/** `available`: the remote reported in time that it is healthy. */
type RemoteState = 'available' | 'unavailable'

/** Returns the state of each remote by name. Calls all at once, except this instance itself. */
export async function remoteStates(
  outbound: Outbound,
  { self, remotes }: Network,
): Promise<ReadonlyMap<string, RemoteState>> {
  const asked = Object.entries(remotes).map(
    async ([name, remote]) => [name, name === self ? 'available' : await stateOf(outbound, remote)] as const,
  )
  return new Map(await Promise.all(asked))
}

async function stateOf(outbound: Outbound, { url }: Remote): Promise<RemoteState> {
  try {
    const { status } = await outbound.call({
      method: 'GET',
      url: `${withoutTrailing(url, '/')}/health`,
      timeoutMs: REMOTE_STATE_MS_MAX,
      answerBytesMax: null,
    })
    return status >= 200 && status < 300 ? 'available' : 'unavailable'
  } catch {
    return 'unavailable'
  }
}
