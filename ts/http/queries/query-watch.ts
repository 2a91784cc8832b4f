import { createHash } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { FilterValue, SearchFacts } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import { readMilliseconds } from '../../parse/index.js'
import { LOGGED_QUERIES_MAX, LOGGED_TEXT_CHARS_MAX } from './limits.js'
import { QueryStatistics } from './query-statistics.js'

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
  /** True if the page begins with the first hit and has a size: without hits, nothing matches. */
  readonly showsFirst: boolean
}

/** Returns true if a search without hits means that nothing matches. */
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

/** Receives the progress of a search. */
export interface Progress {
  /** Called when the search leaves the queue. */
  began(): void
  /** Called when the engine has answered. */
  answered(facts: Pick<SearchFacts, 'hits' | 'stages'>): void
}

const unwatched: Progress = { began: () => undefined, answered: () => undefined }

/** Logs slow searches and counts queries. Both are off by default; then a search costs one comparison here. */
export class QueryWatch {
  /** True if the engine must time the stages of each search. */
  readonly timesStages: boolean
  /** null: queries are not counted. */
  readonly statistics: QueryStatistics | null
  readonly #slowMs: number | null
  readonly #isHashed: boolean
  readonly #log: Pick<FastifyBaseLogger, 'warn'>

  constructor(options: QueryWatchOptions, log: Pick<FastifyBaseLogger, 'warn'>) {
    this.#slowMs = options.slowQueryMs
    this.#isHashed = options.hashQueryText
    this.#log = log
    this.timesStages = this.#slowMs !== null
    this.statistics = options.queryStats ? new QueryStatistics() : null
  }

  /**
   * Runs the search of a request.
   * @param route its name in the log
   * @param asked the queries of the request; called only for a search that is logged or counted
   */
  async run<T>(
    route: string,
    asked: () => readonly AskedQuery[],
    search: (progress: Progress) => Promise<T>,
  ): Promise<T> {
    if (this.#slowMs === null && this.statistics === null) return search(unwatched)
    const started = performance.now()
    const seen: { began?: number; facts?: Pick<SearchFacts, 'hits' | 'stages'> } = {}
    const progress: Progress = {
      began: () => {
        seen.began ??= performance.now()
      },
      answered: (facts) => {
        seen.facts = facts
      },
    }
    try {
      const answer = await search(progress)
      const ms = performance.now() - started
      if (this.statistics !== null) this.#count(this.statistics, asked(), ms, seen.facts?.hits)
      this.#logIfSlow(route, asked, { ms, queuedMs: (seen.began ?? started) - started, facts: seen.facts })
      return answer
    } catch (error) {
      const ms = performance.now() - started
      const queuedMs = (seen.began ?? performance.now()) - started
      const code = error instanceof ApiError ? error.code : 'internal'
      this.#logIfSlow(route, asked, { ms, queuedMs, code })
      throw error
    }
  }

  #count(statistics: QueryStatistics, queries: readonly AskedQuery[], ms: number, hits?: number): void {
    const isAlone = queries.length === 1
    for (const { indexUid, q, showsFirst } of queries) {
      // A search without words is a page of the index, not a query.
      if (q === null || q.trim() === '') continue
      const isEmpty = isAlone && showsFirst && hits !== undefined ? hits === 0 : null
      statistics.add({ indexUid, q: this.#loggable(q), ms: isAlone ? ms : null, isEmpty })
    }
  }

  #logIfSlow(route: string, asked: () => readonly AskedQuery[], timing: Timing): void {
    if (this.#slowMs === null || timing.ms < this.#slowMs) return
    const queries = asked().map(({ indexUid, q, filter }) => ({
      index: indexUid,
      ...(q !== null && { q: this.#loggable(q) }),
      ...(filter !== null && { filter: this.#loggable(JSON.stringify(filter)) }),
    }))
    const [first] = queries
    const shown = queries.length === 1 ? first : { queries: queries.slice(0, LOGGED_QUERIES_MAX) }
    const { ms, queuedMs, facts, code } = timing
    this.#log.warn(
      {
        route,
        ...shown,
        ...(queries.length > LOGGED_QUERIES_MAX && { queriesLeftOut: queries.length - LOGGED_QUERIES_MAX }),
        ...(code !== undefined ? { error: code } : facts && { hits: facts.hits }),
        ms: rounded(ms),
        stages: { 'wait for turn': rounded(queuedMs), ...stagesOf(facts?.stages) },
      },
      'a search was slow',
    )
  }

  /** Returns a text in the form for operators: shortened, or hashed. */
  #loggable(text: string): string {
    if (!this.#isHashed) return text.slice(0, LOGGED_TEXT_CHARS_MAX)
    return createHash('sha256').update(text.trim().toLowerCase()).digest('hex').slice(0, HASH_DIGITS)
  }
}

/** Hexadecimal digits of a hash. Among a million queries, two share a hash with a probability of one in ten million. */
const HASH_DIGITS = 16

/** Timing and outcome of a search. */
interface Timing {
  readonly ms: number
  /** Milliseconds in the queue, part of `ms`. */
  readonly queuedMs: number
  readonly facts?: Pick<SearchFacts, 'hits' | 'stages'> | undefined
  /** Error code; absent: the search succeeded. */
  readonly code?: string
}

/** Milliseconds by stage, parsed from the texts of the engine. */
function stagesOf(words: string | undefined): Readonly<Record<string, number>> {
  if (words === undefined) return {}
  const stages = Object.entries(JSON.parse(words) as Readonly<Record<string, string>>)
  return Object.fromEntries(stages.map(([stage, text]) => [stage, rounded(readMilliseconds(text) ?? 0)]))
}

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000
