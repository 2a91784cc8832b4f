import { COUNTED_QUERIES_MAX, COUNTED_TEXT_CHARS_MAX, SHOWN_QUERIES_MAX } from './limits.js'

/** A search for one text in one index. */
export interface CountedSearch {
  readonly indexUid: string
  readonly q: string
  /** null: the time of this search alone is unknown. */
  readonly ms: number | null
  /** True if no document of the index matches; null: unknown. */
  readonly isEmpty: boolean | null
}

/** Statistics of the searches for one text in one index. */
export interface QueryFigures {
  readonly indexUid: string
  readonly q: string
  readonly count: number
  readonly countWithoutHits: number
  /** null: no search for this text alone was timed. */
  readonly averageMs: number | null
  readonly maxMs: number | null
  /** RFC 3339. */
  readonly lastSearchedAt: string
}

interface Tally {
  readonly indexUid: string
  readonly q: string
  count: number
  countWithoutHits: number
  timed: number
  sumMs: number
  maxMs: number
  lastAt: number
}

/** A bounded set of queries. Forgets the lowest-ranked queries first. */
class Ranking {
  readonly #rank: (tally: Tally) => number
  #tallies = new Map<string, Tally>()

  constructor(rank: (tally: Tally) => number) {
    this.#rank = rank
  }

  add(key: string, { indexUid, q, ms, isEmpty }: CountedSearch, now: number): void {
    let tally = this.#tallies.get(key)
    if (tally === undefined) {
      if (this.#tallies.size >= 2 * COUNTED_QUERIES_MAX) this.#forget()
      tally = { indexUid, q, count: 0, countWithoutHits: 0, timed: 0, sumMs: 0, maxMs: 0, lastAt: now }
      this.#tallies.set(key, tally)
    }
    tally.count += 1
    tally.lastAt = now
    if (isEmpty === true) tally.countWithoutHits += 1
    if (ms === null) return
    tally.timed += 1
    tally.sumMs += ms
    tally.maxMs = Math.max(tally.maxMs, ms)
  }

  /** Returns true if the query is counted. */
  has(key: string): boolean {
    return this.#tallies.has(key)
  }

  /** Returns the tallies with the highest rank, highest first. */
  top(limit: number, isVisible: (indexUid: string) => boolean): readonly Tally[] {
    return this.#sorted()
      .filter(([, tally]) => isVisible(tally.indexUid))
      .slice(0, limit)
      .map(([, tally]) => tally)
  }

  #forget(): void {
    this.#tallies = new Map(this.#sorted().slice(0, COUNTED_QUERIES_MAX))
  }

  #sorted(): (readonly [string, Tally])[] {
    return [...this.#tallies].sort(([, a], [, b]) => this.#rank(b) - this.#rank(a) || b.lastAt - a.lastAt)
  }
}

/**
 * Counts the most frequent queries, the slowest, and those without hits. Memory is bounded: a forgotten query counts
 * from zero when it comes again.
 */
export class QueryStatistics {
  readonly #since = Date.now()
  #searches = 0
  readonly #frequent = new Ranking(({ count }) => count)
  readonly #slow = new Ranking(({ maxMs }) => maxMs)
  readonly #empty = new Ranking(({ countWithoutHits }) => countWithoutHits)

  add({ q, ...rest }: CountedSearch): void {
    this.#searches += 1
    const text = q.trim().toLowerCase().slice(0, COUNTED_TEXT_CHARS_MAX)
    const search = { ...rest, q: text }
    const key = `${rest.indexUid}/${text}`
    const now = Date.now()
    this.#frequent.add(key, search, now)
    if (rest.ms !== null) this.#slow.add(key, search, now)
    if (rest.isEmpty === true || this.#empty.has(key)) this.#empty.add(key, search, now)
  }

  /** @param isVisible returns true if the queries of an index may be shown */
  report(isVisible: (indexUid: string) => boolean): {
    readonly since: string
    readonly searches: number
    readonly mostFrequent: readonly QueryFigures[]
    readonly slowest: readonly QueryFigures[]
    readonly withoutHits: readonly QueryFigures[]
  } {
    const shown = (ranking: Ranking): readonly QueryFigures[] =>
      ranking.top(SHOWN_QUERIES_MAX, isVisible).map(figuresOf)
    return {
      since: new Date(this.#since).toISOString(),
      searches: this.#searches,
      mostFrequent: shown(this.#frequent),
      slowest: shown(this.#slow),
      withoutHits: shown(this.#empty),
    }
  }
}

function figuresOf({
  indexUid,
  q,
  count,
  countWithoutHits,
  timed,
  sumMs,
  maxMs,
  lastAt,
}: Tally): QueryFigures {
  return {
    indexUid,
    q,
    count,
    countWithoutHits,
    averageMs: timed === 0 ? null : rounded(sumMs / timed),
    maxMs: timed === 0 ? null : rounded(maxMs),
    lastSearchedAt: new Date(lastAt).toISOString(),
  }
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100
