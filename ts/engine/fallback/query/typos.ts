/**
 * Which indexed words are one or two typos away?
 *
 * Source: search §5.2.
 *  1. Distance is optimal string alignment: a swap of neighbours is one typo.
 *  2. For an unfinished word the first beginning of the candidate counts that is near enough and that no
 *     longer one could undercut: `romanc` is two from `romantic`, but one from what may follow it, so that
 *     `romance` is judged whole. Source: recorded answers; it is how prefix automata of this kind stop.
 *  3. Another first letter counts as two typos, and must be the only one.
 *  4. Words are met in dictionary order; what is past the caps does not count, and words that stand only
 *     where typos are off do not count towards them.
 *
 * The sorted dictionary is walked as if it were a trie: a row of the distance matrix is kept per UTF-16 unit
 * of the present word, and a beginning that cannot match any more is jumped over. A character of two units
 * counts once: the row of its first repeats the one above.
 */
import type { IndexSettings } from '../../../settings/index.js'
import { ONE_TYPO_WORDS_MAX, TWO_TYPO_WORDS_MAX } from '../limits.js'
import type { TermDictionary } from '../postings/postings.js'

/** How many typos a word may have: 0, 1 or 2. Source: search §5.1. */
export function typoBudget({ typoTolerance }: IndexSettings): (word: string) => number {
  const { enabled, minWordSizeForTypos, disableOnWords } = typoTolerance
  const protectedWords = new Set(disableOnWords)
  return (word) => {
    if (!enabled || protectedWords.has(word)) return 0
    const length = Array.from(word).length
    return length < minWordSizeForTypos.oneTypo ? 0 : length < minWordSizeForTypos.twoTypos ? 1 : 2
  }
}

export interface TypoWords {
  readonly one: readonly string[]
  readonly two: readonly string[]
}

const NONE: TypoWords = { one: [], two: [] }

/** Indexed words at one and two typos from `word`, in dictionary order. */
export function typoWords(dictionary: TermDictionary, word: string, options: TypoOptions): TypoWords {
  return options.budget === 0 ? NONE : new TypoWalk(dictionary, word, options).run()
}

export interface TypoOptions {
  /** Typos allowed: 0, 1 or 2. */
  readonly budget: number
  readonly isPrefix: boolean
  /** Whether a word may be found by a typo at all; others do not count towards the caps. */
  readonly accepts: (word: string) => boolean
}

/** No distance yet. */
const OPEN = 255

class TypoWalk {
  private readonly sorted: readonly string[]
  private readonly dictionary: TermDictionary
  /** Code points of the word. */
  private readonly letters: readonly number[]
  private readonly budget: number
  private readonly isPrefix: boolean
  private readonly first: string
  private readonly one: string[] = []
  private readonly two: string[] = []
  /** Row per depth; `rows[d][j]`: distance of the first d units of the candidate to the first j letters of the word. */
  private readonly rows: Uint8Array[]
  /** Smallest entry of each row. */
  private readonly least: number[] = [0]
  /** Distance settled by a beginning up to a depth, `OPEN` if none settled it. */
  private readonly settled: number[] = [OPEN]

  private readonly accepts: (word: string) => boolean

  constructor(dictionary: TermDictionary, word: string, { budget, isPrefix, accepts }: TypoOptions) {
    this.accepts = accepts
    this.dictionary = dictionary
    this.sorted = dictionary.sorted
    this.letters = Array.from(word, (letter) => letter.codePointAt(0)!)
    this.budget = budget
    this.isPrefix = isPrefix
    this.first = String.fromCodePoint(word.codePointAt(0)!)
    this.rows = [Uint8Array.from({ length: this.letters.length + 1 }, (_, at) => at)]
  }

  run(): TypoWords {
    const [from, to] = this.budget === 1 ? this.dictionary.prefixRange(this.first) : [0, this.sorted.length]
    let previous = ''
    let valid = 0
    for (let at = from; at < to; ) {
      const candidate = this.sorted[at]!
      const allowed = candidate.startsWith(this.first) ? this.budget : 1
      let depth = Math.min(valid, sharedLength(previous, candidate))
      let dead = 0
      while (depth < candidate.length) {
        depth++
        this.fill(candidate, depth, allowed)
        if (!isHalf(candidate, depth) && this.isDead(depth, allowed)) {
          dead = depth
          break
        }
      }
      valid = depth
      previous = candidate
      if (dead > 0) {
        at = this.skip(candidate.slice(0, dead), at, to)
        continue
      }
      const settled = this.settled[depth]!
      const distance = settled === OPEN ? this.rows[depth]![this.letters.length]! : settled
      if (distance > 0 && distance <= allowed && this.full(candidate, distance)) break
      at++
    }
    return { one: this.one, two: this.two }
  }

  /** Notes a match. @returns whether nothing more can be noted */
  private full(candidate: string, distance: number): boolean {
    if (!this.accepts(candidate)) return false
    const level = candidate.startsWith(this.first) ? distance : 2
    if (level === 1) {
      if (this.one.length < ONE_TYPO_WORDS_MAX) this.one.push(candidate)
    } else if (this.two.length < TWO_TYPO_WORDS_MAX) this.two.push(candidate)
    const noMoreOnes = this.one.length >= ONE_TYPO_WORDS_MAX
    return noMoreOnes && (this.budget === 1 || this.two.length >= TWO_TYPO_WORDS_MAX)
  }

  private fill(candidate: string, depth: number, allowed: number): void {
    const { letters } = this
    const above = this.rows[depth - 1]!
    let row = this.rows[depth]
    if (row === undefined) {
      row = new Uint8Array(letters.length + 1)
      this.rows[depth] = row
    }
    if (isHalf(candidate, depth)) {
      row.set(above)
      this.least[depth] = this.least[depth - 1]!
      this.settled[depth] = this.settled[depth - 1]!
      return
    }
    const end = depth - widthBefore(candidate, depth)
    const unit = candidate.codePointAt(end)!
    const twoAbove = end > 0 ? this.rows[end - widthBefore(candidate, end)]! : null
    const before = end > 0 ? candidate.codePointAt(end - widthBefore(candidate, end))! : -1
    row[0] = Math.min(above[0]! + 1, 255)
    let least = row[0]
    for (let at = 1; at <= letters.length; at++) {
      const letter = letters[at - 1]!
      let cost = above[at - 1]! + (letter === unit ? 0 : 1)
      if (above[at]! + 1 < cost) cost = above[at]! + 1
      if (row[at - 1]! + 1 < cost) cost = row[at - 1]! + 1
      if (twoAbove !== null && at > 1 && letter === before && letters[at - 2] === unit)
        if (twoAbove[at - 2]! + 1 < cost) cost = twoAbove[at - 2]! + 1
      row[at] = cost
      if (cost < least) least = cost
    }
    this.least[depth] = least
    const whole = row[letters.length]!
    const settles = this.isPrefix && whole <= allowed && least === whole
    this.settled[depth] = this.settled[depth - 1] === OPEN && settles ? whole : this.settled[depth - 1]!
  }

  /** Whether no word that begins so far can be near enough. A swap may still reach back one row. */
  private isDead(depth: number, allowed: number): boolean {
    if (this.settled[depth] !== OPEN) return false
    return this.least[depth]! > allowed && this.least[depth - 1]! + 1 > allowed
  }

  /** Index of the first word after `from` that does not begin with `prefix`. */
  private skip(prefix: string, from: number, to: number): number {
    let step = 1
    let low = from
    while (low + step < to && this.sorted[low + step]!.startsWith(prefix)) {
      low += step
      step *= 2
    }
    let high = Math.min(to, low + step)
    while (low + 1 < high) {
      const middle = (low + high) >>> 1
      if (this.sorted[middle]!.startsWith(prefix)) low = middle
      else high = middle
    }
    return high
  }
}

/** Whether `depth` units of a text end within a character. */
const isHalf = (text: string, depth: number): boolean =>
  depth < text.length && isUnit(text, depth - 1, 0xd800) && isUnit(text, depth, 0xdc00)

/** Units of the character that ends at `depth`. */
const widthBefore = (text: string, depth: number): number => (depth > 1 && isHalf(text, depth - 1) ? 2 : 1)

/** Whether a unit is a surrogate of the half that begins at `from`. */
const isUnit = (text: string, at: number, from: number): boolean => (text.charCodeAt(at) & 0xfc00) === from

function sharedLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let length = 0
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length++
  return length
}
