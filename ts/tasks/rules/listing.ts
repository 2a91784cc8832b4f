import { LISTED_WORDS_MAX } from './limits.js'
import type { Rule } from './rule.js'
import type { ReadyRule, RuleBook } from './rule-book.js'
import { foldedWords } from './words.js'

/** Selects rules for a list. */
interface RuleFilter {
  /** Each of its first words must begin a word of the rule's description or condition. */
  readonly query: string | null
  readonly active: boolean | null
}

/** Returns the rules that pass `filter`, most recently written first. */
export function listedRules({ ready }: RuleBook, filter: RuleFilter | null): readonly Rule[] {
  const wanted = [...foldedWords(filter?.query ?? '', LISTED_WORDS_MAX)]
  const isActive = filter?.active ?? null
  const found = ready.filter(
    (one) =>
      (isActive === null || isActive === one.rule.active) && wanted.every((word) => hasWordFrom(one, word)),
  )
  return found
    .map(({ rule }) => ({ rule, writtenAt: comparable(rule.lastUpdatedAt) }))
    .sort((a, b) =>
      a.writtenAt === b.writtenAt ? (a.rule.uid < b.rule.uid ? -1 : 1) : a.writtenAt > b.writtenAt ? -1 : 1,
    )
    .map(({ rule }) => rule)
}

/** Returns true if the rule is listed under a word that starts with `prefix`. */
function hasWordFrom({ listedBy }: ReadyRule, prefix: string): boolean {
  // Binary search for the first word that is not less than the prefix.
  let from = 0
  let to = listedBy.length
  while (from < to) {
    const middle = (from + to) >> 1
    if (listedBy[middle]! < prefix) from = middle + 1
    else to = middle
  }
  return listedBy[from]?.startsWith(prefix) === true
}

/** Converts a date to text that sorts in order of time. Dates have no trailing zeros, so they differ in length. */
function comparable(date: string): string {
  const [seconds, fraction = ''] = date.split(/[.Z]/)
  return `${seconds}.${fraction.padEnd(9, '0')}`
}
