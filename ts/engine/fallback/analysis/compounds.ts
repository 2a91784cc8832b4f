/**
 * How languages join words into compounds.
 *
 * A compound is two words of the index, with or without linking letters between them: `arbeit` + `s` + `zimmer`. The parts
 * of longer compounds are compounds themselves.
 */
import { stopWordsOf } from './stop-words.js'

/** Letters of the shortest part. Shorter words are mostly prefixes and endings. */
const PART_LETTERS_MIN = 3
/** Letters of the shortest query word that is looked for in compounds. */
const WORD_LETTERS_MIN = 4

/** Linking letters by three-letter code. The native engine has the same. */
const LINKS: readonly (readonly [code: string, links: readonly string[]])[] = [
  ['dan', ['s', 'e']],
  ['deu', ['s', 'es', 'n', 'en', 'er', 'e']],
  ['fin', ['n']],
  ['nld', ['s', 'en']],
  ['nob', ['s', 'e']],
  ['swe', ['s']],
]

/** The language whose words lose a final letter in compounds, and the letter: `schule` in `schulbuch`. */
const DROPPED = { code: 'deu', letter: 'e' } as const

const DIGIT = /[0-9]/
const isLong = (word: string, letters: number): boolean =>
  word.length >= letters && Array.from(word).length >= letters

/** The rules of some languages. */
export class Compounds {
  private readonly links: readonly string[]
  private readonly drops: boolean
  /** Articles, prepositions and other words that are no parts. */
  private readonly ignored: ReadonlySet<string>

  private constructor(codes: readonly string[]) {
    const own = LINKS.flatMap(([code, links]) => (codes.includes(code) ? links : []))
    this.links = [...new Set(own)]
    this.drops = codes.includes(DROPPED.code)
    this.ignored = stopWordsOf(codes)
  }

  /** Returns the rules of languages by their three-letter codes; null if there are none. */
  static of(codes: readonly string[]): Compounds | null {
    return LINKS.some(([code]) => codes.includes(code)) ? new Compounds(codes) : null
  }

  /** Returns true if a word of the index may be a part. */
  isPart(word: string): boolean {
    return isLong(word, PART_LETTERS_MIN) && !DIGIT.test(word) && !this.ignored.has(word)
  }

  /** Returns true if a query word is looked for in compounds. */
  isSought(word: string): boolean {
    return isLong(word, WORD_LETTERS_MIN) && this.isPart(word)
  }

  /** The words that may be the first part of a compound which begins with `start`, the most likely first. */
  firstParts(start: string): readonly string[] {
    const linked = this.links.filter((link) => start.endsWith(link))
    return [
      start,
      ...linked.map((link) => start.slice(0, -link.length)),
      ...(this.drops ? [`${start}${DROPPED.letter}`] : []),
    ]
  }

  /** The words that may be the second part of a compound which ends with `end`. */
  secondParts(end: string): readonly string[] {
    const linked = this.links.filter((link) => end.startsWith(link))
    return [end, ...linked.map((link) => end.slice(link.length))]
  }

  /** Returns `word` without the letter that it loses in compounds; null if it loses none. */
  shortened(word: string): string | null {
    if (!this.drops || !word.endsWith(DROPPED.letter)) return null
    const short = word.slice(0, -1)
    return isLong(short, WORD_LETTERS_MIN) ? short : null
  }
}
