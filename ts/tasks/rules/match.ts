import { type Equality, type EqualityBranch, equalityBranches, type FilterValue } from '../../engine/index.js'
import { defaultRuleBudgets, type RuleBudgets } from './limits.js'
import type { Pin } from './rule.js'
import { equalityKey, type ReadyRule, type RuleBook } from './rule-book.js'
import { foldedWords } from './words.js'

/** The search that rules are matched with. */
export interface RuledSearch {
  readonly indexUid: string
  readonly q: string | null
  readonly filter: FilterValue | null
  /** Milliseconds since 1970. */
  readonly now: number
}

/**
 * Returns the documents that rules pin in this search, ordered by precedence of the rules. If several rules pin a
 * document, the first pin wins.
 */
export function pinsFor(
  { effective }: RuleBook,
  search: RuledSearch,
  budgets: RuleBudgets = defaultRuleBudgets,
): Pin[] {
  if (effective.length === 0) return []
  const matched = new MatchedSearch(search, budgets)
  const pins = new Map<string, Pin>()
  for (const rule of effective.slice(0, budgets.activeRulesMax)) {
    if (!matched.meets(rule)) continue
    for (const { selector, action } of rule.actions) {
      if (selector.indexUid !== undefined && selector.indexUid !== search.indexUid) continue
      if (pins.has(selector.id)) continue
      if (pins.size >= budgets.pinsMax) return [...pins.values()]
      pins.set(selector.id, { id: selector.id, position: action.position })
    }
  }
  return [...pins.values()]
}

/** The words and filter of a search, computed when rules need them. */
class MatchedSearch {
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
    if (words !== null && !this.#queryHas(words)) return false
    return values === null || this.#filterRequires(values)
  }

  #isBlank(): boolean {
    return (this.#search.q ?? '').trim() === ''
  }

  /** Returns true if the query has each of these words, in any order. */
  #queryHas(wanted: readonly string[]): boolean {
    this.#wordsLeft -= wanted.length
    if (this.#wordsLeft < 0 || wanted.length === 0) return false
    this.#words ??= foldedWords(this.#search.q ?? '', this.#budgets.countedWordsMax)
    const words = this.#words
    return wanted.every((word) => words.has(word))
  }

  /** Returns true if a way to pass the filter requires all these values. */
  #filterRequires([first, ...others]: readonly string[]): boolean {
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
  /** The numbers of the branches with each equality. */
  readonly byKey: ReadonlyMap<string, ReadonlySet<number>>
}

function branchesByKey(branches: readonly EqualityBranch[]): Branches {
  const keys = new Map<Equality, string>()
  const found = new Map<string, Set<number>>()
  for (const [at, branch] of branches.entries())
    for (const equality of branch) {
      // An equality can be in many branches, and its value may be long.
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
