import { ApiError } from '../../errors/index.js'
import { inside, type PositionedQuery } from '../../operations/index.js'
import type { Network } from '../remotes/index.js'

/** The queries of a request, grouped by the instance that answers them. */
export interface Partition {
  readonly local: readonly PositionedQuery[]
  /** By name of the remote. */
  readonly remote: ReadonlyMap<string, readonly PositionedQuery[]>
}

/** @throws ApiError `invalid_multi_search_remote` for a remote missing in the network */
export function partition(queries: readonly PositionedQuery[], network: Network): Partition {
  const local: PositionedQuery[] = []
  const remote = new Map<string, PositionedQuery[]>()
  for (const one of queries) {
    const name = one.query.federationOptions?.remote ?? null
    if (name === null || name === network.self) local.push(one)
    else if (Object.hasOwn(network.remotes, name)) remote.set(name, [...(remote.get(name) ?? []), one])
    else {
      const error = new ApiError('invalid_multi_search_remote', `there is no remote \`${name}\``)
      throw inside(`.queries[${one.position}]`, error)
    }
  }
  return { local, remote }
}
