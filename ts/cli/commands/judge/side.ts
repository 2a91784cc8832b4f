/** An index with search parameters: runs the judged queries and explains hits. */

import { type JudgedQuery, ndcg, RECALL_DEPTH, recall, type Score } from '../../../judge/index.js'
import { LaunchError } from '../../../launch/index.js'
import type { Explanation } from '../../../operations/index.js'
import { isObject, isText, list, maybe, type Peer, PeerError } from '../../../transfer/index.js'
import type { JsonObject } from '../json-argument.js'
import { pathOf } from '../task-output.js'
import { IDS_AT_A_TIME, SEARCHES_AT_A_TIME } from './limits.js'

export interface Side {
  readonly peer: Peer
  readonly index: string
  readonly primaryKey: string
  /** Further members of each search. */
  readonly body: JsonObject
}

/** The hits of a query, and their metrics. */
export interface Ranked extends Score {
  readonly ids: readonly string[]
}

/** Members of `--body` that would change the hits that are judged. */
const fixedMembers = ['q', 'limit', 'offset', 'page', 'hitsPerPage', 'attributesToRetrieve']

/** @throws LaunchError with exit code 2 */
export function checkBody(body: JsonObject): void {
  const fixed = fixedMembers.find((name) => Object.hasOwn(body, name))
  if (fixed !== undefined) throw new LaunchError(`--body: judge sets \`${fixed}\` itself; leave it out`, 2)
}

/** Runs all queries, a few at a time. @param finished called after each query */
export async function rankAll(
  side: Side,
  queries: readonly JudgedQuery[],
  finished: (count: number) => void = () => undefined,
): Promise<readonly Ranked[]> {
  const all: Ranked[] = []
  let [next, count] = [0, 0]
  const lane = async (): Promise<void> => {
    while (next < queries.length) {
      const at = next++
      const { query, grades } = queries[at]!
      const ids = await idsOf(side, query)
      all[at] = { ids, hits: ids.length, ndcg: ndcg(ids, grades), recall: recall(ids, grades) }
      finished(++count)
    }
  }
  await Promise.all(Array.from({ length: SEARCHES_AT_A_TIME }, lane))
  return all
}

async function idsOf({ peer, index, primaryKey, body }: Side, query: string): Promise<readonly string[]> {
  const request = { ...body, q: query, limit: RECALL_DEPTH, attributesToRetrieve: [primaryKey] }
  const { hits } = await peer.json<{ hits: readonly JsonObject[] }>('POST', `${pathOf(index)}/search`, {
    body: request,
    isRepeatable: true,
    shape: { hits: list(isObject) },
  })
  return hits.map((hit) => {
    if (Object.hasOwn(hit, primaryKey)) return String(hit[primaryKey])
    throw new LaunchError(
      `hits of \`${index}\` do not show their primary key \`${primaryKey}\`; add it to displayedAttributes`,
      1,
    )
  })
}

/** @throws LaunchError if the index has no documents */
export async function primaryKeyOf(peer: Peer, index: string): Promise<string> {
  const { primaryKey } = await peer.json<{ primaryKey: string | null }>('GET', pathOf(index), {
    shape: { primaryKey: maybe(isText) },
  })
  if (primaryKey !== null) return primaryKey
  throw new LaunchError(`\`${index}\` has no documents, so there is nothing to judge`, 1)
}

/** Returns the ids that no document has. */
export async function missingIds(
  { peer, index, primaryKey }: Omit<Side, 'body'>,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const missing = new Set(ids)
  const all = [...missing]
  for (let at = 0; at < all.length; at += IDS_AT_A_TIME) {
    const asked = all.slice(at, at + IDS_AT_A_TIME)
    const body = { ids: asked, fields: [primaryKey], limit: asked.length }
    const { results } = await peer.json<{ results: readonly JsonObject[] }>(
      'POST',
      `${pathOf(index)}/documents/fetch`,
      { body, isRepeatable: true, shape: { results: list(isObject) } },
    )
    for (const document of results) missing.delete(String(document[primaryKey]))
  }
  return missing
}

/** Explains the rank of a document; null if the server cannot explain. */
export async function explained(
  { peer, index, body }: Side,
  query: string,
  id: string,
): Promise<Explanation | null> {
  try {
    const request = { ...body, q: query, id }
    return await peer.json<Explanation>('POST', `${pathOf(index)}/explain`, {
      body: request,
      isRepeatable: true,
      shape: { reasons: list(isObject) },
    })
  } catch (error) {
    // Other servers have no such route, and hybrid searches may refuse to be explained.
    const isUnable = error instanceof PeerError && [400, 404, 405].includes(error.status ?? 0)
    if (isUnable) return null
    throw error
  }
}
