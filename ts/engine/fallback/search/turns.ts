/** Lets other calls run between the queries of a request, which must all see the same commits. */
import type { IndexData } from '../index-data/index-data.js'
import { Pacer } from '../indexing/pacer.js'
import { FILTER_MS_MAX, SEARCH_CUTOFF_MS } from '../limits.js'
import type { SharedTime } from './bounds.js'
import type { FederatedQuery } from './federation/query.js'
import type { StoppableRequest } from './search.js'

/** Number of attempts that a commit may interrupt. */
const INTERRUPTED_MAX = 2

/**
 * An attempt to answer all queries. The last attempt does not yield to other calls and has the time limit of a single
 * search.
 */
export class Turns {
  readonly #queries: readonly FederatedQuery[]
  readonly #pacer = new Pacer()
  readonly #before: string
  readonly #shared: SharedTime | null

  /** @param attempt 0 for the first attempt */
  constructor(queries: readonly FederatedQuery[], attempt: number) {
    this.#queries = queries
    this.#before = versionsOf(queries)
    const now = performance.now()
    this.#shared =
      attempt < INTERRUPTED_MAX
        ? null
        : { filtersEndAt: now + FILTER_MS_MAX, rankingEndsAt: now + SEARCH_CUTOFF_MS }
  }

  /** Yields to other calls if it is time. Returns true if no index has changed. */
  async next(): Promise<boolean> {
    if (this.#shared !== null || !this.#pacer.due()) return true
    await this.#pacer.pause()
    return versionsOf(this.#queries) === this.#before
  }

  /** Returns the query with the time limits of this attempt. */
  timed(request: StoppableRequest): StoppableRequest {
    return this.#shared === null ? request : { ...request, shared: this.#shared }
  }
}

/** Versions of all indexes that the queries read, as text. */
function versionsOf(queries: readonly FederatedQuery[]): string {
  const read = new Set<IndexData>()
  for (const { index, request } of queries) {
    read.add(index.data)
    for (const data of request.foreign?.data.values() ?? []) read.add(data)
  }
  return Array.from(read, ({ version }) => version).join()
}
