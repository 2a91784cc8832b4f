/** Runs judged queries against an index. */
import { ask, Failure, indexPath } from '../api/client.ts'
import type { Doc, Hit, Page } from '../api/types.ts'
import type { JudgedQuery, Judgment } from './judgments.ts'
import { costliest, ndcg, RECALL_DEPTH, recall } from './metrics.ts'

export interface QueryScore {
  readonly query: string
  readonly ndcg: number
  readonly recall: number
  readonly hits: number
  /** The document whose position lowers nDCG most; null if the order is the best one. */
  readonly costly: { readonly id: string; readonly grade: number; readonly position: number | null } | null
}

const SEARCHES_AT_A_TIME = 4
const IDS_AT_A_TIME = 1000

export interface Target {
  readonly index: string
  readonly primaryKey: string
}

/**
 * Runs all queries, a few at a time.
 * @param finished called after each query
 * @throws {Failure}, or an `AbortError` after `signal`
 */
export async function runQueries(
  { index, primaryKey }: Target,
  queries: readonly JudgedQuery[],
  signal: AbortSignal,
  finished: (count: number) => void,
): Promise<readonly QueryScore[]> {
  const scores: QueryScore[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < queries.length) {
      const { query, grades } = queries[next++]!
      const body = { q: query, limit: RECALL_DEPTH, attributesToRetrieve: [primaryKey] }
      const { hits } = await ask<{ hits: readonly Hit[] }>('POST', indexPath(index, '/search'), {
        body,
        signal,
      })
      if (hits.some((hit) => !Object.hasOwn(hit, primaryKey)))
        throw new Failure(
          0,
          '',
          `Hits do not show their primary key “${primaryKey}”. Add it to “Displayed attributes”.`,
        )
      const ids = hits.map((hit) => String(hit[primaryKey]))
      const id = costliest(ids, grades)
      const position = id === null ? -1 : ids.indexOf(id)
      scores.push({
        query,
        ndcg: ndcg(ids, grades),
        recall: recall(ids, grades),
        hits: ids.length,
        costly:
          id === null
            ? null
            : { id, grade: grades.get(id) ?? 0, position: position === -1 ? null : position },
      })
      finished(scores.length)
    }
  }
  await Promise.all(Array.from({ length: SEARCHES_AT_A_TIME }, lane))
  return scores.sort((a, b) => a.ndcg - b.ndcg || a.recall - b.recall || (a.query < b.query ? -1 : 1))
}

/** Returns the ids that no document has; an empty set for a key that may not read documents. @throws {Failure} */
export async function missingIds(
  { index, primaryKey }: Target,
  judgments: readonly Judgment[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const missing = new Set(judgments.map(({ id }) => id))
  const all = [...missing]
  try {
    for (let at = 0; at < all.length; at += IDS_AT_A_TIME) {
      const ids = all.slice(at, at + IDS_AT_A_TIME)
      const body = { ids, fields: [primaryKey], limit: ids.length }
      const { results } = await ask<Page<Doc>>('POST', indexPath(index, '/documents/fetch'), { body, signal })
      for (const document of results) missing.delete(String(document[primaryKey]))
    }
  } catch (error) {
    if (error instanceof Failure && (error.status === 401 || error.status === 403)) return new Set()
    throw error
  }
  return missing
}
