/** Warns about dynamic search rules whose filter an index cannot evaluate. */
import { type Engine, encodeRequest, type Scale, type SearchRequest } from '../../engine/index.js'
import { ApiError } from '../../errors/index.js'
import type { IndexEntry } from '../../tasks/index.js'

/** Receives the warnings. */
interface WarningLog {
  warn(facts: object, message: string): void
}

/**
 * Checks the filters of scaling actions, once for each rule and index. A search does not wait for it: an action whose
 * filter cannot be evaluated selects nothing.
 */
export class RuleFilters {
  readonly #engine: Engine
  readonly #log: WarningLog
  /** The indexes for which an action has been checked. */
  readonly #checked = new WeakMap<Scale, Set<string>>()
  #last: Promise<void> = Promise.resolve()

  constructor(engine: Engine, log: WarningLog) {
    this.#engine = engine
    this.#log = log
  }

  /** @param inlineUid uid of the rule of the search itself, whose author sees its effect */
  check(entry: IndexEntry, request: SearchRequest, inlineUid: string | undefined): void {
    for (const scale of request.scales ?? []) {
      if (scale.filter === null || scale.ruleUid === inlineUid) continue
      const indexes = this.#checked.get(scale) ?? new Set()
      if (indexes.has(entry.id)) continue
      this.#checked.set(scale, indexes.add(entry.id))
      this.#last = this.#last.then(() => this.#judge(entry, request, scale))
    }
  }

  async #judge(entry: IndexEntry, request: SearchRequest, { ruleUid, filter }: Scale): Promise<void> {
    const { foreignKeys: _keys, ...own } = request
    try {
      await this.#engine.search(entry.id, encodeRequest({ ...own, ...nothingElse, filter }))
    } catch (error) {
      // The search itself reports other errors.
      if (error instanceof ApiError)
        this.#log.warn(
          { index: entry.uid, rule: ruleUid, error: error.code },
          `a filter of a dynamic search rule selects nothing: ${error.message}`,
        )
    }
  }
}

/** Turns off everything but the filter of a search. */
const nothingElse = {
  q: null,
  paging: { kind: 'offset', offset: 0, limit: 0 },
  sort: null,
  distinct: null,
  facets: null,
  rankingScoreThreshold: null,
  hybrid: null,
  vector: null,
  metadata: null,
  pins: [],
  scales: [],
} as const satisfies Partial<SearchRequest>
