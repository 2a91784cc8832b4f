import type { FastifyBaseLogger } from 'fastify'
import type { FilterValue, SearchFacts } from '../../engine/index.js'
import { cutText, readMilliseconds } from '../../parse/index.js'
import { hashedText } from './hashed-text.js'
import { LOGGED_QUERIES_MAX, LOGGED_TEXT_CHARS_MAX } from './limits.js'
import type { QueryHistory } from './query-history.js'
import { type CountedClick, type CountedSearch, QueryStatistics } from './query-statistics.js'

export interface QueryWatchOptions {
  /** Milliseconds from which a search is logged; null: no search is. */
  readonly slowQueryMs: number | null
  /** True if queries are counted. */
  readonly queryStats: boolean
  /** True if log and statistics show hashes instead of texts and filters. */
  readonly hashQueryText: boolean
}

/** A query of a request. */
export interface AskedQuery {
  readonly indexUid: string
  readonly q: string | null
  readonly filter: FilterValue | null
  /** See `showsFirst`. */
  readonly showsFirst: boolean
}

/** Returns true if the page starts at the first hit and is not empty, so that no hit means that nothing matches. */
export const showsFirst = ({ page, hitsPerPage, offset, limit }: PagingFields): boolean =>
  page === null && hitsPerPage === null
    ? (offset ?? 0) === 0 && limit !== 0
    : (page ?? 1) === 1 && hitsPerPage !== 0

interface PagingFields {
  readonly page: number | null
  readonly hitsPerPage: number | null
  readonly offset: number | null
  readonly limit: number | null
}

/** A search of a request that has ended. */
interface EndedSearch {
  /** Name of the route in the log. */
  readonly route: string
  /** Returns the queries of the request; called only for a search that is logged or counted. */
  readonly asked: () => readonly AskedQuery[]
  readonly ms: number
  /** Milliseconds in the queue, part of `ms`. */
  readonly queuedMs: number
  /** null: the engine did not answer. */
  readonly facts: Pick<SearchFacts, 'hits' | 'stages'> | null
  /** Error code; null: the search succeeded. */
  readonly code: string | null
}

/** Logs slow searches and counts queries. Both are off by default; then a search costs one comparison here. */
export class QueryWatch {
  /** True if the engine must time the stages of each search. */
  readonly timesStages: boolean
  /** null: queries are not counted in this thread. */
  readonly statistics: QueryStatistics | null
  readonly #count: ((search: CountedSearch) => void) | null
  readonly #slowMs: number | null
  readonly #isHashed: boolean
  readonly #log: Pick<FastifyBaseLogger, 'warn'>

  /**
   * @param count counts queries: a function that passes them to another thread, or a history that keeps the statistics
   * on disk. Absent: they are counted here, in memory
   */
  constructor(
    options: QueryWatchOptions,
    log: Pick<FastifyBaseLogger, 'warn'>,
    count?: ((search: CountedSearch) => void) | QueryHistory | null,
  ) {
    this.#slowMs = options.slowQueryMs
    this.#isHashed = options.hashQueryText
    this.#log = log
    this.timesStages = this.#slowMs !== null
    const isElsewhere = typeof count === 'function'
    const statistics =
      options.queryStats && !isElsewhere ? (count?.statistics ?? new QueryStatistics()) : null
    this.statistics = statistics
    this.#count = options.queryStats ? (isElsewhere ? count : (search) => statistics?.add(search)) : null
  }

  /** False: searches need not be timed or reported. */
  get isOn(): boolean {
    return this.#slowMs !== null || this.#count !== null
  }

  ended(search: EndedSearch): void {
    if (this.#count !== null && search.code === null) this.#countQueries(this.#count, search)
    this.#logIfSlow(search)
  }

  /** Counts a click on a hit. A search without words is not counted, so neither are its clicks. */
  clicked(click: CountedClick): void {
    if (click.q.trim() !== '') this.statistics?.click({ ...click, q: this.#loggable(click.q) })
  }

  #countQueries(count: (search: CountedSearch) => void, { asked, ms, facts }: EndedSearch): void {
    const queries = asked()
    const hits = facts?.hits
    const isAlone = queries.length === 1
    for (const { indexUid, q, showsFirst } of queries) {
      // A search without words is a page of the index, not a query.
      if (q === null || q.trim() === '') continue
      const isEmpty = isAlone && showsFirst && hits !== undefined ? hits === 0 : null
      count({ indexUid, q: this.#loggable(q), ms: isAlone ? ms : null, isEmpty })
    }
  }

  #logIfSlow({ route, asked, ms, queuedMs, facts, code }: EndedSearch): void {
    if (this.#slowMs === null || ms < this.#slowMs) return
    const queries = asked().map(({ indexUid, q, filter }) => ({
      index: indexUid,
      ...(q !== null && { q: this.#loggable(q) }),
      ...(filter !== null && { filter: this.#loggable(JSON.stringify(filter)) }),
    }))
    const [first] = queries
    const shown = queries.length === 1 ? first : { queries: queries.slice(0, LOGGED_QUERIES_MAX) }
    this.#log.warn(
      {
        route,
        ...shown,
        ...(queries.length > LOGGED_QUERIES_MAX && { queriesLeftOut: queries.length - LOGGED_QUERIES_MAX }),
        ...(code !== null ? { error: code } : facts && { hits: facts.hits }),
        ms: rounded(ms),
        stages: { 'wait for turn': rounded(queuedMs), ...stagesOf(facts?.stages) },
      },
      'a search was slow',
    )
  }

  /** Returns a text in the form for operators: shortened, or hashed. */
  #loggable(text: string): string {
    if (!this.#isHashed) return cutText(text, LOGGED_TEXT_CHARS_MAX)
    return hashedText(text)
  }
}

/** Milliseconds by stage, parsed from the texts of the engine. Sums the queries of a federation. */
function stagesOf(words: string | undefined): Readonly<Record<string, number>> {
  if (words === undefined) return {}
  const stages = new Map<string, number>()
  for (const [name, text] of Object.entries(JSON.parse(words) as Readonly<Record<string, string>>)) {
    const stage = name.replace(/^search > query \d+ > /, 'search > ')
    stages.set(stage, (stages.get(stage) ?? 0) + (readMilliseconds(text) ?? 0))
  }
  return Object.fromEntries(Array.from(stages, ([stage, ms]) => [stage, rounded(ms)]))
}

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000
