/**
 * The formula of the ranking rule `relevance`: BM25F in fixed point.
 *
 * 1. The frequency of a term is the sum over attributes of its occurrences, each times the weight of the attribute and
 *    divided by the relative length of the attribute.
 * 2. A document has the best score of the derivations of each term, and the sum of the scores of all terms, reduced by
 *    the share of the query that it lacks.
 * 3. Every intermediate result is a whole number, so that both engines compute the same score in any order of
 *    attributes and documents. Only `+ - * / √` are used on doubles, whose results IEEE 754 defines to the last bit.
 */
import { LENGTHS } from '../../postings/field-lengths.js'

/** Frequencies above this have little effect. */
const SATURATION = 1.2
/** Effect of the length of an attribute, between 0 and 1. */
const LENGTH_EFFECT = 0.7
/** Average length of attributes whose occurrences count 1. */
const LENGTH_UNIT = 10
/** Frequency that one occurrence of a word counts in an attribute with weight 1 and average length. */
const FREQUENCY_UNIT = 4096
/** Hundredths that an occurrence of another form of a word counts, with the same stem. */
export const FORM_PERCENT = 90
/** A score of 1. */
const SCORE_UNIT = 4096

/** Weights of the kinds of derivations. */
export const WEIGHTS = {
  exact: 1,
  prefix: 0.6,
  synonym: 0.8,
  split: 0.7,
  oneTypo: 0.9,
  twoTypos: 0.4,
  /** A misspelt word that continues the last query word. */
  misspeltPrefix: 0.2,
  /** Neighbouring words joined. */
  joined: 0.7,
} as const

/** Weight of a pair of neighbouring query words, of the rarity of the less rare one. With one word in between, half. */
export const PAIR_WEIGHT = 0.8
/** Weight of a pair that the query writes without a separator, as in Japanese. It is likely a compound or a name. */
export const ATTACHED_PAIR_WEIGHT = 1
/** Hundredths of the highest scores of the words that all pairs with a separator together count at most. */
const PAIRS_PERCENT_MAX = 30
/** Average words whose scores limit the pairs. Long queries have more pairs than words, few of which are phrases. */
const PAIRED_WORDS_MAX = 4
/** Words of the query from one word of a pair to the other. */
export const PAIR_STEPS_MAX = 2
/** Documents of a universe whose positions are read. */
export const NEARNESS_DOCUMENTS_MAX = 200
/** Positions between the words of a pair that count as near. */
export const NEAR_DISTANCE_MAX = 3

/** Part of the weight of misspelt words that is left if the index contains the word as written. */
export const TYPO_OF_KNOWN_WORD = 0.25

/** Ranks per whole score in each half of the scale, so that different scores have different ranks. */
const RANKS_PER_SCORE = 8

/** Part of a sum that a document loses per part of the query that it lacks: 1 / `MISSING_DIVISOR`. */
const MISSING_DIVISOR = 4

/** Natural logarithm of a number of at least 1. The result of `Math.log` differs between machines. */
export function ln(value: number): number {
  let halvings = 0
  let rest = value
  while (rest >= 2) {
    rest /= 2
    halvings++
  }
  return series(rest) + halvings * LN_2
}

/** ln x = 2 (y + y³/3 + y⁵/5 + …) with y = (x − 1) / (x + 1), for x from 1 to 2. */
function series(value: number): number {
  const y = (value - 1) / (value + 1)
  let power = y
  let sum = 0
  for (let odd = 1; odd < 40; odd += 2) {
    sum += power / odd
    power *= y * y
  }
  return 2 * sum
}

const LN_2 = series(2)

/** Rarity of a term that `found` of `total` documents contain. */
export const rarity = (total: number, found: number): number => ln(1 + (total - found + 0.5) / (found + 0.5))

/** Weight of an occurrence in an attribute: one in a title tells more than one in a long text. Power of −3/8 of the length. */
function lengthWeight(averageLength: number): number {
  const fourthRoot = Math.sqrt(Math.sqrt(LENGTH_UNIT / averageLength))
  return fourthRoot * Math.sqrt(fourthRoot)
}

/** Highest score of all pairs with a separator together, if those of `count` words are `words` together. */
export const pairsMax = (words: number, count: number): number =>
  Math.floor((words * PAIRS_PERCENT_MAX * Math.min(count, PAIRED_WORDS_MAX)) / (100 * Math.max(count, 1)))

/** Highest score of a pair, if those of all pairs are `pairs` together and count `most` at most. */
export const limitedPair = (max: number, pairs: number, most: number): number =>
  pairs <= most ? max : Math.floor((max * most) / pairs)

/** Frequency of one occurrence in an attribute, by the code of its length. */
export function frequencyUnits(weight: number, averageLength: number): Float64Array {
  const one = weight * FREQUENCY_UNIT * lengthWeight(averageLength)
  return Float64Array.from(LENGTHS, (words) =>
    Math.max(1, Math.floor(one / (1 - LENGTH_EFFECT + (LENGTH_EFFECT * words) / averageLength))),
  )
}

/** Highest score of a derivation. */
export const scoreMax = (weight: number, rarity: number): number =>
  Math.floor(weight * rarity * SCORE_UNIT * (SATURATION + 1))

/** Score of a derivation with the highest score `max` and this frequency. */
export const scoreOf = (max: number, frequency: number): number =>
  Math.floor((max * frequency) / (frequency + SATURATION * FREQUENCY_UNIT))

/** Score of a document with this sum, whose words weigh `found` of the `all` that those of the query weigh. */
export const covered = (sum: number, found: number, all: number): number =>
  all === 0 ? sum : sum - Math.floor((sum * (all - found)) / (MISSING_DIVISOR * all))

/**
 * Rank of a score between 0 and `max`, and the best rank: (1 + ∜(score / max)) / 2. Few documents have all words often, so
 * most scores are far below the highest. The root spreads them, and the scale is that of similarities of vectors,
 * (1 + cosine) / 2, which hybrid searches compare with it.
 */
export function rankOf(score: number, max: number): { readonly rank: number; readonly max: number } {
  const half = RANKS_PER_SCORE * Math.max(max, 1)
  const part = Math.min(score, max) / Math.max(max, 1)
  return { rank: half + Math.floor(half * Math.sqrt(Math.sqrt(part))), max: 2 * half }
}
