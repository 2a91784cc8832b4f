/**
 * All dynamic search rules of an instance, prepared for matching with searches.
 *
 * The texts of a rule are folded once, when the rule is stored, not by each search.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { ACTIONS_MAX, RULES_PER_TURN, TEXT_CHARS_MAX, VALUES_CHARS_MAX } from './limits.js'
import type { Action, Rule } from './rule.js'
import { folded, foldedWords } from './words.js'

/** A rule with folded texts. */
export interface ReadyRule {
  readonly rule: Rule
  /** The first actions; see `ACTIONS_MAX`. */
  readonly actions: readonly Action[]
  /** Milliseconds since 1970, both inclusive. */
  readonly startsAt: number
  readonly endsAt: number
  /** True if the query must be blank, false if it must not; null: either. */
  readonly isBlank: boolean | null
  /** Words that the query must have; null: any query. */
  readonly words: readonly string[] | null
  /** Equalities that the filter must require, by `equalityKey`; null: any filter. */
  readonly values: readonly string[] | null
  /** True if its conditions exceed the limits, so that it never applies. */
  readonly isTooLong: boolean
  /** The words of the rule for lists, ascending by UTF-16 units. */
  readonly listedBy: readonly string[]
}

/** Returns a key for a field and a value, independent of case and accents. */
export const equalityKey = (field: string, value: string): string =>
  `${field.length} ${field}${folded(value.trim())}`

/** An immutable set of rules. */
export class RuleBook {
  static readonly empty = new RuleBook([])

  /** All rules, in no particular order. */
  readonly all: readonly Rule[]
  readonly ready: readonly ReadyRule[]
  /**
   * Active rules with actions, by precedence. Equal rules are ordered by uid, so that the order never depends on
   * writes.
   */
  readonly effective: readonly ReadyRule[]

  private constructor(ready: readonly ReadyRule[]) {
    this.ready = ready
    this.all = ready.map(({ rule }) => rule)
    this.effective = ready.filter(({ rule }) => rule.active && rule.actions.length > 0).sort(byPrecedence)
  }

  /**
   * Prepares rules, with pauses for the event loop.
   * @param before reuses prepared rules of this book that are also in `rules`
   */
  static async of(rules: readonly Rule[], before: RuleBook = RuleBook.empty): Promise<RuleBook> {
    const known = new Map(before.ready.map((ready) => [ready.rule, ready]))
    const ready: ReadyRule[] = []
    let made = 0
    for (const rule of rules) {
      const old = known.get(rule)
      ready.push(old ?? readyRule(rule))
      if (old === undefined && ++made % RULES_PER_TURN === 0) await turn()
    }
    return new RuleBook(ready)
  }
}

function byPrecedence({ rule: a }: ReadyRule, { rule: b }: ReadyRule): number {
  const [first, second] = [a.precedence ?? Number.POSITIVE_INFINITY, b.precedence ?? Number.POSITIVE_INFINITY]
  if (first !== second) return first < second ? -1 : 1
  return a.uid < b.uid ? -1 : 1
}

function readyRule(rule: Rule): ReadyRule {
  const { time, query, filter } = rule.conditions
  const words = query?.words
  const isTooLong = areWordsTooLong(words) || areValuesTooLong(filter?.values)
  const listedBy = [rule.description ?? '', words ?? ''].flatMap((text) => [...foldedWords(text)])
  return {
    rule,
    actions: rule.actions.slice(0, ACTIONS_MAX),
    startsAt: time?.start === undefined ? Number.NEGATIVE_INFINITY : Date.parse(time.start),
    endsAt: time?.end === undefined ? Number.POSITIVE_INFINITY : Date.parse(time.end),
    isBlank: query?.isEmpty ?? null,
    words: words === undefined || isTooLong ? null : [...foldedWords(words)],
    values: filter === undefined || isTooLong ? null : keysOf(filter.values),
    isTooLong,
    listedBy: listedBy.sort(),
  }
}

const keysOf = (values: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(values).flatMap(([field, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => equalityKey(field, String(one))),
  )

/** Returns true if the words of a condition exceed the limit. */
export const areWordsTooLong = (words: string | undefined): boolean =>
  words !== undefined && words.length > TEXT_CHARS_MAX

/** Returns true if the values of a condition exceed the limit. */
export const areValuesTooLong = (values: Readonly<Record<string, unknown>> | undefined): boolean =>
  values !== undefined && JSON.stringify(values).length > VALUES_CHARS_MAX
