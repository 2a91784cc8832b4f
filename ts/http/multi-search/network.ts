import type { Access } from '../../auth/index.js'
import type { Paging } from '../../engine/index.js'
import type { ErrorBody } from '../../errors/index.js'
import {
  bothFilters,
  type DisconnectSignal,
  type Federation,
  type LocalSearches,
  type Merging,
  type PositionedQuery,
  paging,
  personalized,
  readJson,
  SEARCH_MS,
  shownPosition,
  uuidV7,
} from '../../operations/index.js'
import { type Cells, unreadable } from '../cells/index.js'
import {
  askRemote,
  mayJoin,
  mergedAnswer,
  type NamedPart,
  type Network,
  readPart,
  rightsHeader,
  shareOf,
} from '../remotes/index.js'
import type { SearchRouteServices } from '../route-services.js'
import { type OnDisconnect, untilDisconnected } from '../searches/index.js'
import { askCell } from './ask-cell.js'
import type { Partition } from './partition.js'

/** A federated search that also queries other instances, or other cells of this one. */
interface NetworkSearch {
  readonly partition: Partition
  readonly federation: Federation
  readonly network: Network
  /** null: there are no other cells. */
  readonly cells: Cells | null
  /** Headers of the client for other cells; see `searchHeaders`. */
  readonly headers: Readonly<Record<string, string>>
  readonly access: Access
  readonly includeMetadata: boolean
  readonly local: LocalSearches
  readonly onDisconnect: OnDisconnect
}

/**
 * Searches the remotes and the indexes of this instance at the same time and merges their hits. `remoteErrors` names
 * the remotes that failed. Only the local search waits in the search queue.
 *
 * @throws ApiError `too_many_requests` if the answers of remotes to other searches leave too little memory
 */
export async function searchNetwork(
  {
    outbound,
    rerankers,
    searches,
    remoteAnswers,
    options,
  }: Pick<SearchRouteServices, 'outbound' | 'rerankers' | 'searches' | 'remoteAnswers' | 'options'>,
  search: NetworkSearch,
): Promise<string> {
  const { partition, federation, network, cells, headers, access, includeMetadata, onDisconnect } = search
  const started = performance.now()
  const rights = rightsHeader(access)
  const shares = partition.remote.size + partition.cells.size
  const namesRemotes = allQueries(partition).some(
    ({ query }) => (query.federationOptions?.remote ?? null) !== null,
  )
  const controller = new AbortController()
  const stopListening = onDisconnect(() => controller.abort())
  const memory = remoteAnswers.reserve()
  try {
    const asked = [...partition.remote].map(async ([name, queries]) => ({
      name,
      answer: await askRemote(outbound, {
        remote: network.remotes[name]!,
        body: remoteBody(queries, federation, (one) => filterOf(one, access)),
        includeMetadata,
        rights,
        mustEnforceRights: rights !== null && queries.some((one) => mayJoin(filterOf(one, access))),
        timeoutMs: options.remoteSearchMsMax,
        ...shareOf(shares),
        memory,
        signal: controller.signal,
      }),
    }))
    const cellParts = [...partition.cells].map(async ([cell, queries]) => {
      const part = readPart(
        await askCell(
          {
            ...{ cells: cells!, cell, queries, headers, shares, memory, signal: controller.signal },
            timeoutMs: options.remoteSearchMsMax,
          },
          remoteBody(queries, federation, ({ query }) => query.filter),
        ),
      )
      if (part === null) throw unreadable(cell)
      return { remote: network.self, part, cell }
    })
    const ownPart = searches.run(access.holder, onDisconnect, (stop) => localPart(search, stop))
    // An error of the local search ends the request at once, without waiting for the remotes.
    const [own, answers, ofCells] = await Promise.all([ownPart, Promise.all(asked), Promise.all(cellParts)])
    const failed = new Map<string, ErrorBody>()
    const parts: AnsweredPart[] = [...(own === null ? [] : [own]), ...ofCells]
    for (const { name, answer } of answers) {
      if ('hits' in answer) parts.push({ remote: name, part: answer })
      else failed.set(name, answer)
    }
    const merged = mergedAnswer(parts, {
      paging: paging(federation),
      distinct: federation.distinct !== null,
      mergeFacets: federation.mergeFacets,
      metadata: includeMetadata ? metadataOf(parts, search, namesRemotes) : null,
      requestUid: uuidV7(),
      performanceMs: federation.showPerformanceDetails ? performance.now() - started : null,
      remoteErrors: namesRemotes ? failed : null,
    })
    return await inOwnOrder(merged, search, rerankers, started)
  } finally {
    stopListening()
    controller.abort()
    memory.release()
  }
}

/** Returns the merged answer in the order of the personalization, if the search asks for it. */
async function inOwnOrder(
  merged: string,
  { federation, partition, onDisconnect }: NetworkSearch,
  rerankers: SearchRouteServices['rerankers'],
  started: number,
): Promise<string> {
  if (federation.personalize === null) return merged
  const { userContext } = federation.personalize
  const queries = allQueries(partition).map(({ query }) => query.q)
  const body = await untilDisconnected(onDisconnect, (stop) =>
    personalized(rerankers, Buffer.from(merged), {
      ...{ queries, userContext, deadline: started + SEARCH_MS, stop },
      isPinning: true,
      hidesDetails: () => false,
    }),
  )
  return body.toString()
}

async function localPart(
  { partition, federation, network, local }: NetworkSearch,
  stop: DisconnectSignal,
): Promise<NamedPart | null> {
  if (partition.local.length === 0) return null
  const merging: Merging = {
    paging: fromTheStart(paging(federation)),
    facetsByIndex: facetsOf(partition.local, federation),
    mergeFacets: null,
    distinct: federation.distinct,
    showPerformanceDetails: false,
    requestUid: uuidV7(),
    origin: null,
    showScoreValues: true,
    // The merged hits are reordered, not those of one instance.
    order: { personalize: null, rerank: null },
  }
  const part = readPart(readJson(await local.answer(partition.local, merging, stop)))
  if (part === null) throw new TypeError('the answer of the local search has an unknown shape')
  return { remote: network.self, part }
}

/**
 * Extends the page to the first hit: each instance sends all hits up to the end of the page, and the merged list is
 * cut.
 */
function fromTheStart(wanted: Paging): Paging {
  // JSON numbers above this bound lose digits.
  const bounded = (count: number): number => Math.min(count, Number.MAX_SAFE_INTEGER)
  if (wanted.kind === 'offset')
    return { kind: 'offset', offset: 0, limit: bounded(wanted.offset + wanted.limit) }
  return { kind: 'page', page: 1, hitsPerPage: bounded(wanted.page * wanted.hitsPerPage) }
}

/** Returns the body of the request to a remote or a cell: its queries, with their positions here. */
function remoteBody(
  queries: readonly PositionedQuery[],
  federation: Federation,
  filter: (one: PositionedQuery) => unknown,
): object {
  const { kind: _kind, ...paged } = fromTheStart(paging(federation))
  return {
    federation: { ...paged, facetsByIndex: facetsOf(queries, federation), distinct: federation.distinct },
    queries: queries.map((one) => {
      const { federationOptions, useNetwork: _useNetwork, filter: _filter, ...query } = one.query
      const given = Object.entries(query).filter(([, value]) => value !== null)
      return {
        ...Object.fromEntries(given),
        filter: filter(one),
        federationOptions: { weight: federationOptions?.weight ?? 1, queryPosition: shownPosition(one) },
      }
    }),
  }
}

const filterOf = ({ query }: PositionedQuery, access: Access): unknown =>
  bothFilters(query.filter, access.forcedFilter(query.indexUid))

function facetsOf(
  queries: readonly PositionedQuery[],
  { facetsByIndex }: Federation,
): Readonly<Record<string, readonly string[] | null>> {
  return Object.fromEntries(
    [...facetsByIndex].filter(([uid]) => queries.some(({ query }) => query.indexUid === uid)),
  )
}

/** The queries of all instances, in the order of the request. */
const allQueries = ({ local, remote, cells }: Partition): readonly PositionedQuery[] =>
  [local, ...remote.values(), ...cells.values()].flat().sort((a, b) => a.position - b.position)

/** A part of an answer, and the cell that made it, if it is another one. */
type AnsweredPart = NamedPart & { readonly cell?: string }

/**
 * Returns the metadata of each query, in order, with the name of its remote. Fills in the known values if it failed.
 */
function metadataOf(
  parts: readonly AnsweredPart[],
  { partition, network }: NetworkSearch,
  namesRemotes: boolean,
): readonly unknown[] {
  const described = (
    { remote, cell }: Pick<AnsweredPart, 'remote' | 'cell'>,
    queries: readonly PositionedQuery[],
  ) => {
    const answered = parts.find((part) => part.remote === remote && part.cell === cell)
    return queries.map(({ query, position }, i) => {
      const known = answered?.part.metadata?.[i] ?? {
        ...(query.q !== null && { query: query.q }),
        queryUid: uuidV7(),
        indexUid: query.indexUid,
      }
      const named = namesRemotes && remote !== null
      return { position, metadata: { ...known, ...(named && { remote }) } }
    })
  }
  return [
    ...described({ remote: network.self }, partition.local),
    ...[...partition.remote].flatMap(([remote, queries]) => described({ remote }, queries)),
    ...[...partition.cells].flatMap(([cell, queries]) => described({ remote: network.self, cell }, queries)),
  ]
    .sort((a, b) => a.position - b.position)
    .map(({ metadata }) => metadata)
}
