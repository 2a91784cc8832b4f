import { type Equality, type EqualityBranch, equalityBranches, type FilterValue } from '../engine/index.js'
import { defaultRuleBudgets, type RuleBudgets } from './limits.js'
import type { Pin } from './rule.js'
import { equalityKey, type ReadyRule, type RuleBook } from './rule-book.js'
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
 * The documents that rules put in place for this search, those of rules that count more first; of a
 * document that several rules name, the first pin alone.
 */
export function pinsFor(
  { acting }: RuleBook,
  search: RuledSearch,
  budgets: RuleBudgets = defaultRuleBudgets,
): Pin[] {
  if (acting.length === 0) return []
  const asked = new Asked(search, budgets)
  const pins = new Map<string, Pin>()
  for (const rule of acting.slice(0, budgets.activeRulesMax)) {
    if (!asked.meets(rule)) continue
    for (const { selector, action } of rule.actions) {
      if (selector.indexUid !== undefined && selector.indexUid !== search.indexUid) continue
      if (pins.has(selector.id)) continue
      if (pins.size >= budgets.pinsMax) return [...pins.values()]
      pins.set(selector.id, { id: selector.id, position: action.position })
    }
  }
  return [...pins.values()]
}

/** What a search asks, worked out as far as rules want to know it. */
class Asked {
  readonly #search: RuledSearch
  readonly #budgets: RuleBudgets
  #wordsLeft: number
  #valuesLeft: number
  #words: ReadonlySet<string> | undefined
  #branches: Branches | undefined

  constructor(search: RuledSearch, budgets: RuleBudgets) {
    this.#search = search
    this.#budgets = budgets
    this.#wordsLeft = budgets.wordsMax
    this.#valuesLeft = budgets.valuesMax
  }

  meets({ startsAt, endsAt, isBlank, words, values, isTooLong }: ReadyRule): boolean {
    const { now } = this.#search
    if (isTooLong || now < startsAt || now > endsAt) return false
    if (isBlank !== null && isBlank !== this.#isBlank()) return false
    if (words !== null && !this.#holds(words)) return false
    return values === null || this.#filtersBy(values)
  }

  #isBlank(): boolean {
    return (this.#search.q ?? '').trim() === ''
  }

  /** Whether the query has each of these words, in any order. */
  #holds(wanted: readonly string[]): boolean {
    this.#wordsLeft -= wanted.length
    if (this.#wordsLeft < 0 || wanted.length === 0) return false
    this.#words ??= foldedWords(this.#search.q ?? '', this.#budgets.countedWordsMax)
    const words = this.#words
    return wanted.every((word) => words.has(word))
  }

  /** Whether one way to pass the filter asks for all of these values. */
  #filtersBy([first, ...others]: readonly string[]): boolean {
    this.#valuesLeft -= others.length + (first === undefined ? 0 : 1)
    if (this.#valuesLeft < 0) return false
    this.#branches ??= branchesByKey(equalityBranches(this.#search.filter, this.#budgets))
    const { count, byKey } = this.#branches
    if (first === undefined) return count > 0
    for (const branch of byKey.get(first) ?? [])
      if (others.every((key) => byKey.get(key)?.has(branch))) return true
    return false
  }
}

/** The ways to pass a filter, numbered. */
interface Branches {
  readonly count: number
  /** The numbers of the branches that ask for each equality. */
  readonly byKey: ReadonlyMap<string, ReadonlySet<number>>
}

function branchesByKey(branches: readonly EqualityBranch[]): Branches {
  const keys = new Map<Equality, string>()
  const found = new Map<string, Set<number>>()
  for (const [at, branch] of branches.entries())
    for (const equality of branch) {
      // An equality is in many branches, and its value may be long.
      let key = keys.get(equality)
      if (key === undefined) {
        key = equalityKey(equality.field, equality.value)
        keys.set(equality, key)
      }
      const numbers = found.get(key)
      if (numbers === undefined) found.set(key, new Set([at]))
      else numbers.add(at)
    }
  return { count: branches.length, byKey: found }
}
