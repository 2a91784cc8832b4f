import { cutText } from '../../parse/index.js'
import {
  CLICKED_DOCUMENTS_MAX,
  COUNTED_QUERIES_MAX,
  COUNTED_TEXT_CHARS_MAX,
  SHOWN_QUERIES_MAX,
} from './limits.js'

/** A search for one text in one index. */
export interface CountedSearch {
  readonly indexUid: string
  readonly q: string
  /** null: the time of this search alone is unknown. */
  readonly ms: number | null
  /** True if no document of the index matches; null: unknown. */
  readonly isEmpty: boolean | null
}

/** A click on a hit of a search. */
export interface CountedClick {
  readonly indexUid: string
  readonly q: string
  readonly documentId: string
  /** Place among all hits of the search, from 0. */
  readonly position: number
}

/** Sums over the searches for one text in one index. */
export interface QueryTally {
  readonly indexUid: string
  /** In lower case, without outer blanks, cut. */
  readonly q: string
  readonly count: number
  readonly countWithoutHits: number
  /** Searches in `sumMs` and `maxMs`. */
  readonly timed: number
  readonly sumMs: number
  readonly maxMs: number
  /** Milliseconds since 1970 of the last search. 0: only clicks were counted. */
  readonly lastAt: number
  readonly clicks: number
  /** Sum of the positions of all clicks. */
  readonly positionSum: number
  /** Ids of the documents clicked last, newest first. */
  readonly clicked: readonly string[]
}

/** Statistics of the searches for one text in one index. */
interface QueryFigures {
  readonly indexUid: string
  readonly q: string
  readonly count: number
  readonly countWithoutHits: number
  /** null: no search for this text alone was timed. */
  readonly averageMs: number | null
  readonly maxMs: number | null
  /** RFC 3339. */
  readonly lastSearchedAt: string
  readonly clicks: number
  /** From 0; null: no clicks. */
  readonly averageClickPosition: number | null
  readonly lastClicked: readonly string[]
}

export const tallyKey = ({ indexUid, q }: Pick<QueryTally, 'indexUid' | 'q'>): string => `${indexUid}/${q}`

const counted = (q: string): string => cutText(q.trim().toLowerCase(), COUNTED_TEXT_CHARS_MAX)
const noClicks = { clicks: 0, positionSum: 0, clicked: [] } as const

function tallyOf({ indexUid, q, ms, isEmpty }: CountedSearch, now: number): QueryTally {
  return {
    ...noClicks,
    indexUid,
    q: counted(q),
    count: 1,
    countWithoutHits: isEmpty === true ? 1 : 0,
    timed: ms === null ? 0 : 1,
    sumMs: ms ?? 0,
    maxMs: ms ?? 0,
    lastAt: now,
  }
}

function tallyOfClick({ indexUid, q, documentId, position }: CountedClick): QueryTally {
  return {
    ...{ indexUid, q: counted(q), count: 0, countWithoutHits: 0, timed: 0, sumMs: 0, maxMs: 0, lastAt: 0 },
    ...{ clicks: 1, positionSum: position, clicked: [documentId] },
  }
}

/** @param held absent: the first tally of its query */
export const summed = (held: QueryTally | undefined, added: QueryTally): QueryTally =>
  held === undefined
    ? added
    : {
        ...held,
        count: held.count + added.count,
        countWithoutHits: held.countWithoutHits + added.countWithoutHits,
        timed: held.timed + added.timed,
        sumMs: held.sumMs + added.sumMs,
        maxMs: Math.max(held.maxMs, added.maxMs),
        lastAt: Math.max(held.lastAt, added.lastAt),
        clicks: held.clicks + added.clicks,
        positionSum: held.positionSum + added.positionSum,
        clicked:
          added.clicks === 0
            ? held.clicked
            : [...new Set([...added.clicked, ...held.clicked])].slice(0, CLICKED_DOCUMENTS_MAX),
      }

/** A bounded set of queries. Forgets the lowest-ranked queries first. */
class Ranking {
  readonly #rank: (tally: QueryTally) => number
  #tallies = new Map<string, QueryTally>()

  constructor(rank: (tally: QueryTally) => number) {
    this.#rank = rank
  }

  add(key: string, added: QueryTally): void {
    const held = this.#tallies.get(key)
    if (held === undefined && this.#tallies.size >= 2 * COUNTED_QUERIES_MAX) this.#forget()
    this.#tallies.set(key, summed(held, added))
  }

  /** Returns true if the query is counted. */
  has(key: string): boolean {
    return this.#tallies.has(key)
  }

  /** Returns the tallies with the highest rank, highest first. */
  top(limit: number, isVisible: (indexUid: string) => boolean = () => true): readonly QueryTally[] {
    return this.#sorted()
      .filter(([, tally]) => tally.count > 0 && isVisible(tally.indexUid))
      .slice(0, limit)
      .map(([, tally]) => tally)
  }

  #forget(): void {
    this.#tallies = new Map(this.#sorted().slice(0, COUNTED_QUERIES_MAX))
  }

  #sorted(): (readonly [string, QueryTally])[] {
    return [...this.#tallies].sort(([, a], [, b]) => this.#rank(b) - this.#rank(a) || b.lastAt - a.lastAt)
  }
}

/**
 * Counts the most frequent queries, the slowest, and those without hits. Memory is bounded: a forgotten query counts
 * from zero when it comes again.
 */
export class QueryStatistics {
  /** Resolves when the queries of earlier runs are counted too. */
  loaded: Promise<void> = Promise.resolve()
  #since = Date.now()
  #searches = 0
  #rankings = emptyRankings()
  readonly #record: (tally: QueryTally) => void

  /** @param record is called with each counted search */
  constructor(record: (tally: QueryTally) => void = () => undefined) {
    this.#record = record
  }

  get searches(): number {
    return this.#searches
  }

  get since(): number {
    return this.#since
  }

  add(search: CountedSearch): void {
    const tally = tallyOf(search, Date.now())
    this.include(tally)
    this.#record(tally)
  }

  /** Counts a click. Its query need not be counted: another server may have answered the search. */
  click(click: CountedClick): void {
    const tally = tallyOfClick(click)
    this.include(tally)
    this.#record(tally)
  }

  /** Adds searches and clicks that were counted earlier. */
  include(tally: QueryTally): void {
    const { frequent, slow, empty } = this.#rankings
    const key = tallyKey(tally)
    this.#searches += tally.count
    frequent.add(key, tally)
    if (tally.timed > 0 || slow.has(key)) slow.add(key, tally)
    if (tally.countWithoutHits > 0 || empty.has(key)) empty.add(key, tally)
  }

  /** Adds searches whose queries are forgotten, and moves the start of counting back. */
  includeForgotten(searches: number, since: number): void {
    this.#searches += searches
    this.#since = Math.min(this.#since, since)
  }

  /** Takes the counts of `other`, which must not be used any more. */
  replaceWith(other: QueryStatistics): void {
    this.#since = other.#since
    this.#searches = other.#searches
    this.#rankings = other.#rankings
  }

  /** Returns every counted query once: the first of each list, then the second of each, and so on. */
  inTurn(): readonly QueryTally[] {
    const { frequent, slow, empty } = this.#rankings
    const lists = [frequent, empty, slow].map((ranking) => ranking.top(COUNTED_QUERIES_MAX))
    const rounds = Array.from({ length: COUNTED_QUERIES_MAX }, (_, at) => lists.map((list) => list[at]))
    const fullest = new Map<string, QueryTally>()
    for (const tally of rounds.flat()) {
      if (tally === undefined) continue
      const key = tallyKey(tally)
      // A list that the query joined late has fewer of its searches.
      if (tally.count > (fullest.get(key)?.count ?? 0)) fullest.set(key, tally)
    }
    return [...fullest.values()]
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
    const { frequent, slow, empty } = this.#rankings
    return {
      since: new Date(this.#since).toISOString(),
      searches: this.#searches,
      mostFrequent: shown(frequent),
      slowest: shown(slow),
      withoutHits: shown(empty),
    }
  }
}

const emptyRankings = () => ({
  frequent: new Ranking(({ count }) => count),
  slow: new Ranking(({ maxMs }) => maxMs),
  empty: new Ranking(({ countWithoutHits }) => countWithoutHits),
})

function figuresOf({
  indexUid,
  q,
  count,
  countWithoutHits,
  timed,
  sumMs,
  maxMs,
  lastAt,
  clicks,
  positionSum,
  clicked,
}: QueryTally): QueryFigures {
  return {
    indexUid,
    q,
    count,
    countWithoutHits,
    averageMs: timed === 0 ? null : rounded(sumMs / timed),
    maxMs: timed === 0 ? null : rounded(maxMs),
    lastSearchedAt: new Date(lastAt).toISOString(),
    clicks,
    averageClickPosition: clicks === 0 ? null : rounded(positionSum / clicks),
    lastClicked: clicked,
  }
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100
