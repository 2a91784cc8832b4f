import { type EqualityBranch, equalityBranches, type FilterValue } from '../engine/index.js'
import { defaultRuleBudgets, type RuleBudgets } from './limits.js'
import type { Conditions, Pin, Rule } from './rule.js'
import { foldedWords } from './words.js'

/** The search that rules are held against. */
export interface RuledSearch {
  readonly indexUid: string
  readonly q: string | null
  readonly filter: FilterValue | null
  /** Milliseconds since 1970. */
  readonly now: number
}

/**
 * The documents that `rules` put in place for this search, those of rules that count more first; of a
 * document that several rules name, the first pin alone.
 */
export function pinsFor(
  rules: readonly Rule[],
  search: RuledSearch,
  budgets: RuleBudgets = defaultRuleBudgets,
): Pin[] {
  const active = rules.filter((rule) => rule.active && rule.actions.length > 0)
  if (active.length === 0) return []
  const asked = new Asked(search, budgets)
  const pins = new Map<string, Pin>()
  for (const { conditions, actions } of inOrder(active).slice(0, budgets.activeRulesMax)) {
    if (!asked.meets(conditions)) continue
    for (const { selector, action } of actions) {
      if (selector.indexUid !== undefined && selector.indexUid !== search.indexUid) continue
      if (pins.has(selector.id)) continue
      if (pins.size >= budgets.pinsMax) return [...pins.values()]
      pins.set(selector.id, { id: selector.id, position: action.position })
    }
  }
  return [...pins.values()]
}

/** By precedence; equal ones by uid, so that the order never depends on who wrote last. */
function inOrder(rules: readonly Rule[]): readonly Rule[] {
  const place = ({ precedence }: Rule): number => precedence ?? Number.POSITIVE_INFINITY
  return rules.toSorted((a, b) =>
    place(a) === place(b) ? (a.uid < b.uid ? -1 : 1) : place(a) < place(b) ? -1 : 1,
  )
}

/** What a search asks, worked out as far as rules want to know it. */
class Asked {
  readonly #search: RuledSearch
  readonly #budgets: RuleBudgets
  #wordsLeft: number
  #valuesLeft: number
  #words: ReadonlySet<string> | undefined
  #branches: readonly EqualityBranch[] | undefined

  constructor(search: RuledSearch, budgets: RuleBudgets) {
    this.#search = search
    this.#budgets = budgets
    this.#wordsLeft = budgets.wordsMax
    this.#valuesLeft = budgets.valuesMax
  }

  meets({ time, query, filter }: Conditions): boolean {
    const { now } = this.#search
    if (time?.start !== undefined && now < Date.parse(time.start)) return false
    if (time?.end !== undefined && now > Date.parse(time.end)) return false
    if (query?.isEmpty !== undefined && query.isEmpty !== this.#isBlank()) return false
    if (query?.words !== undefined && !this.#holds(query.words)) return false
    return filter === undefined || this.#filtersBy(filter.values)
  }

  #isBlank(): boolean {
    return (this.#search.q ?? '').trim() === ''
  }

  /** Whether the query has each of these words, in any order. */
  #holds(text: string): boolean {
    this.#words ??= new Set(foldedWords(this.#search.q ?? '').slice(0, this.#budgets.countedWordsMax))
    const wanted = foldedWords(text)
    this.#wordsLeft -= wanted.length
    if (this.#wordsLeft < 0) return false
    return wanted.length > 0 && wanted.every((word) => this.#words?.has(word))
  }

  /** Whether one way to pass the filter asks for all of these values. */
  #filtersBy(values: Readonly<Record<string, unknown>>): boolean {
    this.#branches ??= equalityBranches(this.#search.filter, this.#budgets)
    const wanted = Object.entries(values).flatMap(([field, value]) =>
      (Array.isArray(value) ? value : [value]).map((one) => [field, folded(String(one))] as const),
    )
    this.#valuesLeft -= wanted.length
    if (this.#valuesLeft < 0) return false
    return this.#branches.some((branch) =>
      wanted.every(([field, value]) =>
        branch.some((one) => one.field === field && folded(one.value) === value),
      ),
    )
  }
}

/** Values of filters do not care about case and accents. */
const folded = (value: string): string =>
  value
    .trim()
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
