/**
 * All dynamic search rules of an instance, prepared for matching with searches.
 *
 * The texts of a rule are folded once, when the rule is stored, not by each search.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Scale } from '../../engine/index.js'
import {
  ACTION_IDS_MAX,
  ACTIONS_MAX,
  FILTER_CHARS_MAX,
  RULES_PER_TURN,
  TEXT_CHARS_MAX,
  VALUES_CHARS_MAX,
} from './limits.js'
import type { InlineRule, PinAction, Rule, ScaleAction } from './rule.js'
import { folded, foldedWords } from './words.js'

/** A rule whose conditions and actions are prepared for searches. */
export interface EffectiveRule {
  readonly rule: InlineRule
  /** The first actions; see `ACTIONS_MAX`. */
  readonly pins: readonly PinAction[]
  readonly scales: readonly ReadyScale[]
  /** Milliseconds since 1970, both inclusive. */
  readonly startsAt: number
  readonly endsAt: number
  /** True if the query must be blank, false if it must not; null: either. */
  readonly isBlank: boolean | null
  /** Words that the query must have; null: any query. */
  readonly words: readonly string[] | null
  /** Equalities that the filter must require; null: any filter. */
  readonly values: readonly WantedValue[] | null
  /** True if its conditions exceed the limits, so that it never applies. */
  readonly isTooLong: boolean
}

/** An equality that the filter of a search must require. */
export interface WantedValue {
  readonly attribute: string
  readonly value: string
  /** See `equalityKey`. */
  readonly key: string
}

/** A scaling action within the limits. */
export interface ReadyScale {
  /** The same object in every search. */
  readonly scale: Scale
  /** undefined: every index. */
  readonly indexUid: string | undefined
  /** Length of the filter as JSON. */
  readonly filterChars: number
}

/** A stored rule with folded texts. */
export interface ReadyRule extends EffectiveRule {
  readonly rule: Rule
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
    this.effective = ready.filter(acts).sort(byPrecedence)
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

/** Returns true if the rule is active and has actions. */
function acts({ rule, pins, scales }: EffectiveRule): boolean {
  return rule.active && pins.length + scales.length > 0
}

/** Returns the effective rules of a search with an inline rule, which replaces the stored rule of the same uid. */
export function effectiveWith({ effective }: RuleBook, inline: EffectiveRule): readonly EffectiveRule[] {
  const others = effective.filter(({ rule }) => rule.uid !== inline.rule.uid)
  return acts(inline) ? [...others, inline].sort(byPrecedence) : others
}

function byPrecedence({ rule: a }: EffectiveRule, { rule: b }: EffectiveRule): number {
  const [first, second] = [a.precedence ?? Number.POSITIVE_INFINITY, b.precedence ?? Number.POSITIVE_INFINITY]
  if (first !== second) return first < second ? -1 : 1
  return a.uid < b.uid ? -1 : 1
}

function readyRule(rule: Rule): ReadyRule {
  const words = rule.conditions.query?.words
  const listedBy = [rule.description ?? '', words ?? ''].flatMap((text) => [...foldedWords(text)])
  return { ...effectiveRule(rule), rule, listedBy: listedBy.sort() }
}

/** Prepares a rule. Actions beyond the limits are left out. */
export function effectiveRule(rule: InlineRule): EffectiveRule {
  const { time, query, filter } = rule.conditions
  const words = query?.words
  const isTooLong = areWordsTooLong(words) || areValuesTooLong(filter?.values)
  const { pin = [], scale = [] } = rule.actions
  const pins = pin.slice(0, ACTIONS_MAX)
  return {
    rule,
    pins,
    scales: scale.slice(0, ACTIONS_MAX - pins.length).map((one) => readyScale(rule.uid, one)),
    startsAt: time?.start === undefined ? Number.NEGATIVE_INFINITY : Date.parse(time.start),
    endsAt: time?.end === undefined ? Number.POSITIVE_INFINITY : Date.parse(time.end),
    isBlank: query?.isEmpty ?? null,
    words: words === undefined || isTooLong ? null : [...foldedWords(words)],
    values: filter === undefined || isTooLong ? null : wantedValues(filter.values),
    isTooLong,
  }
}

function readyScale(ruleUid: string, { weight, ids = [], filter, indexUid }: ScaleAction): ReadyScale {
  // To a search, a blank filter is no filter. It must not select every document here.
  const isBlank = filter === undefined || [filter].flat(2).every((text) => text.trim() === '')
  return {
    scale: { ruleUid, weight, ids: ids.slice(0, ACTION_IDS_MAX), filter: isBlank ? null : filter },
    indexUid,
    filterChars: isBlank ? 0 : JSON.stringify(filter).length,
  }
}

const wantedValues = (values: Readonly<Record<string, unknown>>): WantedValue[] =>
  Object.entries(values).flatMap(([attribute, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => {
      const text = String(one)
      return { attribute, value: text, key: equalityKey(attribute, text) }
    }),
  )

/** Returns true if the filter of a scaling action exceeds the limit. */
export const isFilterTooLong = (filter: unknown): boolean => JSON.stringify(filter).length > FILTER_CHARS_MAX

/** Returns true if the words of a condition exceed the limit. */
export const areWordsTooLong = (words: string | undefined): boolean =>
  words !== undefined && words.length > TEXT_CHARS_MAX

/** Returns true if the values of a condition exceed the limit. */
export const areValuesTooLong = (values: Readonly<Record<string, unknown>> | undefined): boolean =>
  values !== undefined && JSON.stringify(values).length > VALUES_CHARS_MAX
