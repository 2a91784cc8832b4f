import { ApiError } from '../../errors/index.js'
import { inside, type PositionedQuery } from '../../operations/index.js'
import type { Cells } from '../cells/index.js'
import type { Network } from '../remotes/index.js'

/** The queries of a request, grouped by the instance that answers them. */
export interface Partition {
  readonly local: readonly PositionedQuery[]
  /** By name of the remote. */
  readonly remote: ReadonlyMap<string, readonly PositionedQuery[]>
  /** By name of the cell. */
  readonly cells: ReadonlyMap<string, readonly PositionedQuery[]>
}

/** Returns the queries of this cell, and those of others by name of the cell. @param cells null: this is the only one */
export function byCell(
  queries: readonly PositionedQuery[],
  cells: Pick<Cells, 'name' | 'ofIndex'> | null,
): Pick<Partition, 'local' | 'cells'> {
  if (cells === null) return { local: queries, cells: new Map() }
  const found = new Map<string, PositionedQuery[]>([[cells.name, []]])
  for (const one of queries) {
    const name = cells.ofIndex(one.query.indexUid)
    found.set(name, [...(found.get(name) ?? []), one])
  }
  const local = found.get(cells.name) ?? []
  found.delete(cells.name)
  return { local, cells: found }
}

/** @throws ApiError `invalid_multi_search_remote` for a remote missing in the network */
export function partition(
  queries: readonly PositionedQuery[],
  network: Network,
  cells: Pick<Cells, 'name' | 'ofIndex'> | null,
): Partition {
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
  return { remote, ...byCell(local, cells) }
}
