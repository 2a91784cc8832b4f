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
/** Percentage that an occurrence of another form with the same stem counts. */
export const FORM_PERCENT = 90
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

/**
 * Weight of a pair of neighbouring query words. It is multiplied by the rarity of the more frequent word, and halved if
 * the query has one word between them.
 */
export const PAIR_WEIGHT = 0.8
/** Weight of a pair that the query writes without a separator, as in Japanese. It is likely a compound or a name. */
export const ATTACHED_PAIR_WEIGHT = 1
/** Highest score of all pairs with a separator together, as a percentage of the highest scores of the words. */
const PAIRS_PERCENT_MAX = 30
/**
 * Number of words that the limit of the pairs counts. Long queries have many pairs, but few of them are phrases, so
 * further words do not raise the limit.
 */
const PAIRED_WORDS_MAX = 4
/** Largest distance between the words of a pair in the query: 1 for neighbours. */
export const PAIR_STEPS_MAX = 2
/** Maximum number of documents per universe whose positions are read. */
export const NEARNESS_DOCUMENTS_MAX = 200
/** Largest distance between two words of a document that counts as near. */
export const NEAR_DISTANCE_MAX = 3

/** Factor for the weight of misspelt words if the index contains the word as written. */
export const TYPO_OF_KNOWN_WORD = 0.25

/** Ranks per whole score in each half of the scale, so that different scores have different ranks. */
const RANKS_PER_SCORE = 8

/**
 * A document without any word of the query would lose 1 / `MISSING_DIVISOR` of its score, and one without a part of
 * them loses that part of it.
 */
const MISSING_DIVISOR = 4

/** Natural logarithm of a number of at least 1. The result of `Math.log` differs between machines. */
function ln(value: number): number {
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

/**
 * Weight of an occurrence in an attribute: its length to the power of −3/8. A word in a title says more about a document
 * than a word in a long text.
 */
function lengthWeight(averageLength: number): number {
  const fourthRoot = Math.sqrt(Math.sqrt(LENGTH_UNIT / averageLength))
  return fourthRoot * Math.sqrt(fourthRoot)
}

/** Highest score of all pairs with a separator together. `words`: sum of the highest scores of the `count` query words. */
export const pairsMax = (words: number, count: number): number =>
  Math.floor((words * PAIRS_PERCENT_MAX * Math.min(count, PAIRED_WORDS_MAX)) / (100 * Math.max(count, 1)))

/** Highest score of a pair, reduced so that all pairs, whose sum is `pairs`, count at most `most`. */
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

/**
 * Reduces the sum of a document by its missing words. `all`: weight of all words of the query; `found`: weight of those
 * that the document has.
 */
export const covered = (sum: number, found: number, all: number): number =>
  all === 0 ? sum : sum - Math.floor((sum * (all - found)) / (MISSING_DIVISOR * all))

/**
 * Converts a score between 0 and `max` to a rank, proportional to (1 + ∜(score / max)) / 2. The root spreads the scores:
 * most are far below the highest, because few documents have all words often. Hybrid searches compare the rank with
 * similarities of vectors, (1 + cosine) / 2, which have the same scale.
 */
export function rankOf(score: number, max: number): { readonly rank: number; readonly max: number } {
  const half = RANKS_PER_SCORE * Math.max(max, 1)
  const part = Math.min(score, max) / Math.max(max, 1)
  return { rank: half + Math.floor(half * Math.sqrt(Math.sqrt(part))), max: 2 * half }
}
