/** Finds the effects of rules on a search. */
import {
  type Equality,
  type EqualityBranch,
  equalityBranches,
  type FilterValue,
  type Scale,
} from '../../engine/index.js'
import { defaultRuleBudgets, FILTER_CHARS_MAX, type RuleBudgets, SCALED_IDS_MAX } from './limits.js'
import type { Pin } from './rule.js'
import {
  type EffectiveRule,
  effectiveWith,
  equalityKey,
  type ReadyScale,
  type RuleBook,
  type WantedValue,
} from './rule-book.js'
import { foldedWords, queryWords } from './words.js'

/** The search that rules are matched with. */
export interface RuledSearch {
  readonly indexUid: string
  readonly q: string | null
  readonly filter: FilterValue | null
  /** Milliseconds since 1970. */
  readonly now: number
  /** A rule of this search alone. */
  readonly inline?: EffectiveRule | null
}

/** The effects of all rules on a search, ordered by precedence of the rules. */
export interface RuleEffects {
  /** If several rules pin a document, only the first pin. */
  readonly pins: readonly Pin[]
  readonly scales: readonly Scale[]
}

/** Returns the effects of rules on a search. */
export function effectsOf(
  book: RuleBook,
  search: RuledSearch,
  budgets: RuleBudgets = defaultRuleBudgets,
): RuleEffects {
  const { inline } = search
  const effective = inline ? effectiveWith(book, inline) : book.effective
  const found = new FoundEffects(search.indexUid, budgets)
  if (effective.length === 0) return found
  const matched = new MatchedSearch(search, budgets)
  for (const rule of effective.slice(0, budgets.activeRulesMax)) {
    if (found.isFull) break
    if (matched.meets(rule)) found.add(rule)
  }
  return found
}

/** Collects effects within the budgets. */
class FoundEffects implements RuleEffects {
  readonly scales: Scale[] = []
  readonly #pins = new Map<string, Pin>()
  readonly #indexUid: string
  readonly #budgets: RuleBudgets
  #idsLeft = SCALED_IDS_MAX
  #filterCharsLeft = FILTER_CHARS_MAX

  constructor(indexUid: string, budgets: RuleBudgets) {
    this.#indexUid = indexUid
    this.#budgets = budgets
  }

  get pins(): readonly Pin[] {
    return [...this.#pins.values()]
  }

  get isFull(): boolean {
    const { pinsMax, scalesMax } = this.#budgets
    return this.#pins.size >= pinsMax && this.scales.length >= scalesMax
  }

  add({ pins, scales }: EffectiveRule): void {
    const { pinsMax, scalesMax } = this.#budgets
    for (const { id, position, indexUid } of pins) {
      if (this.#pins.size >= pinsMax) break
      if (this.#concerns(indexUid) && !this.#pins.has(id)) this.#pins.set(id, { id, position })
    }
    for (const scale of scales) {
      if (this.scales.length >= scalesMax) break
      if (this.#concerns(scale.indexUid)) this.#scale(scale)
    }
  }

  #concerns(indexUid: string | undefined): boolean {
    return indexUid === undefined || indexUid === this.#indexUid
  }

  #scale({ scale, filterChars }: ReadyScale): void {
    const { ids, filter } = scale
    if (ids.length === 0 && filter === null) return
    if (ids.length > this.#idsLeft || filterChars > this.#filterCharsLeft) return
    this.#idsLeft -= ids.length
    this.#filterCharsLeft -= filterChars
    this.scales.push(scale)
  }
}

/** The result of each condition of a rule; absent: the rule has no such condition. */
export interface ConditionOutcomes {
  readonly satisfiesActiveCondition: boolean
  readonly satisfiesTimeCondition?: 'satisfied' | 'tooEarly' | 'tooLate'
  readonly satisfiesQueryEmptyCondition?: 'satisfied' | 'queryNotEmpty' | 'queryEmpty'
  readonly satisfiesQueryWordsCondition?: 'satisfied' | { readonly missingWord: { readonly word: string } }
  readonly satisfiesFilterCondition?:
    | 'satisfied'
    | 'noFilter'
    | { readonly missingValue: { readonly attribute: string; readonly value: string } }
}

/** Returns the result of each condition of the inline rule of a search; null without an inline rule. */
export function inlineOutcomes(search: RuledSearch, budgets: RuleBudgets): ConditionOutcomes | null {
  return search.inline ? new MatchedSearch(search, budgets).outcomes(search.inline) : null
}

/** The words and filter of a search, computed when rules need them. */
class MatchedSearch {
  readonly #search: RuledSearch
  readonly #budgets: RuleBudgets
  #wordsLeft: number
  #valuesLeft: number
  #isBlank: boolean | undefined
  #words: ReadonlySet<string> | undefined
  #branches: Branches | undefined

  constructor(search: RuledSearch, budgets: RuleBudgets) {
    this.#search = search
    this.#budgets = budgets
    this.#wordsLeft = budgets.wordsMax
    this.#valuesLeft = budgets.valuesMax
  }

  meets({ startsAt, endsAt, isBlank, words, values, isTooLong }: EffectiveRule): boolean {
    const { now } = this.#search
    if (isTooLong || now < startsAt || now > endsAt) return false
    if (isBlank !== null && isBlank !== this.#isQueryBlank()) return false
    if (words !== null && !this.#queryHas(words)) return false
    return values === null || this.#filterRequires(values)
  }

  outcomes({ rule, startsAt, endsAt, isBlank, words, values }: EffectiveRule): ConditionOutcomes {
    const { now } = this.#search
    const { time } = rule.conditions
    const isQueryBlank = isBlank !== null && this.#isQueryBlank()
    const missingWord = words?.find((word) => !this.#queryWords().has(word))
    return {
      satisfiesActiveCondition: rule.active,
      ...(time !== undefined && {
        satisfiesTimeCondition: now < startsAt ? 'tooEarly' : now > endsAt ? 'tooLate' : 'satisfied',
      }),
      ...(isBlank !== null && {
        satisfiesQueryEmptyCondition:
          isBlank === isQueryBlank ? 'satisfied' : isBlank ? 'queryNotEmpty' : 'queryEmpty',
      }),
      ...(words !== null && {
        satisfiesQueryWordsCondition:
          missingWord === undefined ? 'satisfied' : { missingWord: { word: missingWord } },
      }),
      ...(values !== null && { satisfiesFilterCondition: this.#filterOutcome(values) }),
    }
  }

  #isQueryBlank(): boolean {
    this.#isBlank ??= foldedWords(this.#search.q ?? '', 1).size === 0
    return this.#isBlank
  }

  #queryWords(): ReadonlySet<string> {
    this.#words ??= queryWords(this.#search.q ?? '', this.#budgets.countedWordsMax)
    return this.#words
  }

  /** Returns true if the query has each of these words, in any order. */
  #queryHas(wanted: readonly string[]): boolean {
    this.#wordsLeft -= wanted.length
    if (this.#wordsLeft < 0 || wanted.length === 0) return false
    const words = this.#queryWords()
    return wanted.every((word) => words.has(word))
  }

  #filterBranches(): Branches {
    this.#branches ??= branchesByKey(equalityBranches(this.#search.filter, this.#budgets))
    return this.#branches
  }

  /** Returns true if a way to pass the filter requires all these values. */
  #filterRequires([first, ...others]: readonly WantedValue[]): boolean {
    this.#valuesLeft -= others.length + (first === undefined ? 0 : 1)
    if (this.#valuesLeft < 0) return false
    const { count, byKey } = this.#filterBranches()
    if (first === undefined) return count > 0
    for (const branch of byKey.get(first.key) ?? [])
      if (others.every(({ key }) => byKey.get(key)?.has(branch))) return true
    return false
  }

  /** Returns the first missing value of the way to pass the filter that requires the most of the values. */
  #filterOutcome(values: readonly WantedValue[]): NonNullable<ConditionOutcomes['satisfiesFilterCondition']> {
    const { count, byKey } = this.#filterBranches()
    if (count === 0) return 'noFilter'
    const required = new Array<number>(count).fill(0)
    for (const { key } of values) for (const branch of byKey.get(key) ?? []) required[branch]! += 1
    const closest = required.indexOf(required.reduce((a, b) => Math.max(a, b)))
    const missing = values.find(({ key }) => byKey.get(key)?.has(closest) !== true)
    return missing === undefined
      ? 'satisfied'
      : { missingValue: { attribute: missing.attribute, value: missing.value } }
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
