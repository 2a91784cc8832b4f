/**
 * Finds indexed words within one or two typos.
 *
 * Source: search §5.2.
 * 1. Distance is optimal string alignment: swapping two neighbouring letters is one typo.
 * 2. For a prefix search, a candidate has the distance of its first prefix that is close enough, if no longer prefix
 *    can be closer. `romanc` is two typos from `romantic`, but one typo from a possible continuation, so `romance` is
 *    compared completely. Source: recorded answers; prefix automata of this kind stop there.
 * 3. A different first letter counts as two typos, and must be the only typo.
 * 4. Words are visited in dictionary order. Words beyond the limits are ignored. Words that only occur in fields
 *    without typo tolerance do not count towards the limits.
 *
 * The sorted dictionary is walked like a trie: there is a row of the distance matrix per UTF-16 unit of the current
 * word, and prefixes that cannot match are skipped. A character of two units counts once: the row of its first unit
 * repeats the row above.
 */
import type { IndexSettings } from '../../../settings/index.js'
import { ONE_TYPO_WORDS_MAX, TWO_TYPO_WORDS_MAX } from '../limits.js'
import type { TermDictionary } from '../postings/postings.js'

/** Maximum number of typos of a word: 0, 1 or 2. Source: search §5.1. */
export function typoBudget({ typoTolerance }: IndexSettings): (word: string) => number {
  const { enabled, minWordSizeForTypos, disableOnWords } = typoTolerance
  const protectedWords = new Set(disableOnWords)
  return (word) => {
    if (!enabled || protectedWords.has(word)) return 0
    const length = Array.from(word).length
    return length < minWordSizeForTypos.oneTypo ? 0 : length < minWordSizeForTypos.twoTypos ? 1 : 2
  }
}

export interface Misspellings {
  readonly oneTypo: readonly string[]
  readonly twoTypos: readonly string[]
}

export const NONE: Misspellings = { oneTypo: [], twoTypos: [] }

/** Indexed words one and two typos away from `word`, in dictionary order. */
export function misspellings(dictionary: TermDictionary, word: string, options: TypoOptions): Misspellings {
  return new TypoWalk(dictionary, word, options).run()
}

export interface TypoOptions {
  /** Maximum typos: 1 or 2. */
  readonly budget: number
  readonly isPrefix: boolean
  /** True if a word can be found by typo; other words do not count towards the limits. */
  readonly accepts: (word: string) => boolean
}

/** No distance decided yet. */
const OPEN = 255

class TypoWalk {
  private readonly sorted: readonly string[]
  private readonly dictionary: TermDictionary
  /** Code points of the word. */
  private readonly letters: readonly number[]
  private readonly budget: number
  private readonly isPrefix: boolean
  private readonly first: string
  private readonly oneTypo: string[] = []
  private readonly twoTypos: string[] = []
  /**
   * Row per depth; `rows[d][j]` is the distance between the first d units of the candidate and the first j letters of
   * the word.
   */
  private readonly rows: Uint8Array[]
  /** Minimum of each row. */
  private readonly least: number[] = [0]
  /** Distance decided by a prefix up to each depth, `OPEN` if undecided. */
  private readonly decided: number[] = [OPEN]

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

  run(): Misspellings {
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
      const decided = this.decided[depth]!
      const distance = decided === OPEN ? this.rows[depth]![this.letters.length]! : decided
      if (distance > 0 && distance <= allowed && this.addMatch(candidate, distance)) break
      at++
    }
    return { oneTypo: this.oneTypo, twoTypos: this.twoTypos }
  }

  /** Records a match. @returns true if all lists are addMatch */
  private addMatch(candidate: string, distance: number): boolean {
    if (!this.accepts(candidate)) return false
    const typos = candidate.startsWith(this.first) ? distance : 2
    if (typos === 1) {
      if (this.oneTypo.length < ONE_TYPO_WORDS_MAX) this.oneTypo.push(candidate)
    } else if (this.twoTypos.length < TWO_TYPO_WORDS_MAX) this.twoTypos.push(candidate)
    const isOneTypoFull = this.oneTypo.length >= ONE_TYPO_WORDS_MAX
    return isOneTypoFull && (this.budget === 1 || this.twoTypos.length >= TWO_TYPO_WORDS_MAX)
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
      this.decided[depth] = this.decided[depth - 1]!
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
    const distance = row[letters.length]!
    const isDecided = this.isPrefix && distance <= allowed && least === distance
    this.decided[depth] = this.decided[depth - 1] === OPEN && isDecided ? distance : this.decided[depth - 1]!
  }

  /** Returns true if no word with this prefix can be close enough. A swap may reach back one row. */
  private isDead(depth: number, allowed: number): boolean {
    if (this.decided[depth] !== OPEN) return false
    return this.least[depth]! > allowed && this.least[depth - 1]! + 1 > allowed
  }

  /** Index of the first word after `from` that does not start with `prefix`. */
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

/** Returns true if `depth` units end within a surrogate pair. */
const isHalf = (text: string, depth: number): boolean =>
  depth < text.length && isUnit(text, depth - 1, 0xd800) && isUnit(text, depth, 0xdc00)

/** Number of UTF-16 units of the character that ends at `depth`. */
const widthBefore = (text: string, depth: number): number => (depth > 1 && isHalf(text, depth - 1) ? 2 : 1)

/** Returns true if a unit is in the surrogate range that starts at `from`. */
const isUnit = (text: string, at: number, from: number): boolean => (text.charCodeAt(at) & 0xfc00) === from

function sharedLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let length = 0
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length++
  return length
}
