import type { Access } from '../../auth/index.js'
import type { Paging } from '../../engine/index.js'
import type { ErrorBody } from '../../errors/index.js'
import { ANSWER_BYTES_MAX, bothFilters, paging, readJson, uuidV7 } from '../../requests/index.js'
import { askRemote, joinedAnswer, type NamedPart, type Network, readPart } from '../remotes/index.js'
import type { RouteServices } from '../route-services.js'
import type { Disconnect, OnGone } from '../searches/index.js'
import type { Partition } from './checks.js'
import { type Federation, type PlacedQuery, shownPosition } from './fields.js'
import type { LocalSearches, Merging } from './local.js'

/** A federated search in which other instances take part. */
export interface NetworkSearch {
  readonly partition: Partition
  readonly federation: Federation
  readonly network: Network
  readonly access: Access
  readonly includeMetadata: boolean
  readonly local: LocalSearches
  readonly onGone: OnGone
}

/**
 * Asks the remotes and this instance's own indexes at the same time and joins what arrived; who failed is
 * named in `remoteErrors`. Only the search of our own indexes takes a turn of the queue.
 */
export async function searchNetwork(
  { outbound, searches, options }: RouteServices,
  search: NetworkSearch,
): Promise<string> {
  const { partition, federation, network, access, includeMetadata, onGone } = search
  const started = performance.now()
  const gone = new AbortController()
  const stopListening = onGone(() => gone.abort())
  try {
    const asked = [...partition.remote].map(async ([name, placed]) => ({
      name,
      placed,
      answer: await askRemote(outbound, {
        remote: network.remotes[name]!,
        body: remoteBody(placed, federation, access),
        includeMetadata,
        timeoutMs: options.remoteSearchMsMax,
        answerBytesMax: ANSWER_BYTES_MAX,
        signal: gone.signal,
      }),
    }))
    const ownPart = searches.run(access.holder, onGone, (stop) => localPart(search, stop))
    // A mistake in our own part ends the search at once: nobody waits for the remotes then.
    const [own, answers] = await Promise.all([ownPart, Promise.all(asked)])
    const failed = new Map<string, ErrorBody>()
    const parts: NamedPart[] = own === null ? [] : [own]
    for (const { name, answer } of answers) {
      if ('hits' in answer) parts.push({ remote: name, part: answer })
      else failed.set(name, answer)
    }
    return joinedAnswer(parts, {
      paging: paging(federation),
      distinct: federation.distinct !== null,
      mergeFacets: federation.mergeFacets,
      metadata: includeMetadata ? metadataOf(parts, search) : null,
      requestUid: uuidV7(),
      performanceMs: federation.showPerformanceDetails ? performance.now() - started : null,
      remoteErrors: failed,
    })
  } finally {
    stopListening()
    gone.abort()
  }
}

async function localPart(
  { partition, federation, network, local }: NetworkSearch,
  stop: Disconnect,
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
  }
  const part = readPart(readJson(await local.answer(partition.local, merging, stop)))
  if (part === null) throw new TypeError('the engine did not answer as another instance would')
  return { remote: network.self, part }
}

/** Everything up to the end of the page: only what was merged can be cut. */
function fromTheStart(wanted: Paging): Paging {
  // Beyond, numbers would lose digits on their way.
  const bounded = (count: number): number => Math.min(count, Number.MAX_SAFE_INTEGER)
  if (wanted.kind === 'offset')
    return { kind: 'offset', offset: 0, limit: bounded(wanted.offset + wanted.limit) }
  return { kind: 'page', page: 1, hitsPerPage: bounded(wanted.page * wanted.hitsPerPage) }
}

/** What a remote is asked: its queries, with our places and the tenant's filters. */
function remoteBody(placed: readonly PlacedQuery[], federation: Federation, access: Access): object {
  const { kind: _kind, ...paged } = fromTheStart(paging(federation))
  return {
    federation: { ...paged, facetsByIndex: facetsOf(placed, federation), distinct: federation.distinct },
    queries: placed.map((one) => {
      const { federationOptions, useNetwork: _useNetwork, filter, ...query } = one.query
      const given = Object.entries(query).filter(([, value]) => value !== null)
      return {
        ...Object.fromEntries(given),
        filter: bothFilters(filter, access.forcedFilter(query.indexUid)),
        federationOptions: { weight: federationOptions?.weight ?? 1, queryPosition: shownPosition(one) },
      }
    }),
  }
}

function facetsOf(
  placed: readonly PlacedQuery[],
  { facetsByIndex }: Federation,
): Readonly<Record<string, readonly string[] | null>> {
  return Object.fromEntries(
    [...facetsByIndex].filter(([uid]) => placed.some(({ query }) => query.indexUid === uid)),
  )
}

/** One for each query in their order, with the name of who answered it; for who did not, what we know. */
function metadataOf(parts: readonly NamedPart[], { partition, network }: NetworkSearch): readonly unknown[] {
  const byName = new Map(parts.map(({ remote, part }) => [remote, part.metadata]))
  const described = (remote: string | null, placed: readonly PlacedQuery[]) =>
    placed.map(({ query, at }, i) => {
      const known = byName.get(remote)?.[i] ?? {
        ...(query.q !== null && { query: query.q }),
        queryUid: uuidV7(),
        indexUid: query.indexUid,
      }
      return { at, metadata: { ...known, ...(remote !== null && { remote }) } }
    })
  return [
    ...described(network.self, partition.local),
    ...[...partition.remote].flatMap(([name, placed]) => described(name, placed)),
  ]
    .sort((a, b) => a.at - b.at)
    .map(({ metadata }) => metadata)
}
