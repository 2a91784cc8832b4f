/**
 * Readings of Chinese characters in Hanyu Pinyin without tones.
 *
 * ```text
 * word     = syllable+
 * syllable = "a" | "ai" | … | "zuo"        as in the table; ü is v or u
 * ```
 */
import { lines } from './readings.js'

/** Letters of the shortest text that is read. Words of one letter are frequent in other languages. */
const LETTERS_MIN = 2
/** Letters of the longest text that is read: a bit of `Reached` for each, and one for the end. */
const LETTERS_MAX = 30

/** The ends of all readings of the first characters of a word, as a set of offsets in the text. */
type Reached = number

/** Set if the text ended within a syllable, or before the last one. Then any characters may follow. */
const OPEN = 1 << 31

/** How a word is read: as the text, or as a word that begins with it. */
type Reads = 'complete' | 'beginning'

const LATIN = /^[a-z]+$/

/** Syllables of characters and characters of syllables. Made from the lines of the table for the first text. */
class Readings {
  readonly #lines: readonly string[]
  /** Syllable → its characters. */
  #characters: ReadonlyMap<string, string> | null = null
  #syllables: readonly string[] = []
  /** `code point * SYLLABLES + number of a syllable`, ascending. Characters with several readings are repeated. */
  #readings = new Uint32Array(0)

  constructor(lines: readonly string[]) {
    this.#lines = lines
  }

  /** Calls `visit` with the readings of a character. */
  each(character: string, visit: (syllable: string) => void): void {
    this.#read()
    const key = character.codePointAt(0)! * SYLLABLES
    let [low, high] = [0, this.#readings.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#readings[middle]! < key) low = middle + 1
      else high = middle
    }
    for (; low < this.#readings.length && this.#readings[low]! < key + SYLLABLES; low++)
      visit(this.#syllables[this.#readings[low]! - key]!)
  }

  /** Syllables with the same first letter as `text`, in order. */
  alike(text: string): readonly string[] {
    this.#read()
    return this.#syllables.filter((syllable) => syllable.charCodeAt(0) === text.charCodeAt(0))
  }

  charactersOf(syllable: string): string {
    return this.#read().get(syllable) ?? ''
  }

  #read(): ReadonlyMap<string, string> {
    if (this.#characters === null) {
      const table = this.#lines.map((line) => line.split(' ') as [string, string])
      this.#syllables = table.map(([syllable]) => syllable)
      this.#readings = Uint32Array.from(
        table.flatMap(([, characters], number) =>
          Array.from(characters, (character) => character.codePointAt(0)! * SYLLABLES + number),
        ),
      ).sort()
      this.#characters = new Map(table)
    }
    return this.#characters
  }
}

/** More than there are syllables. */
const SYLLABLES = 512

const readings = new Readings(lines)

/** A query word that may be the pinyin of Chinese words. */
export class Pinyin {
  private readonly text: string
  private readonly isUnfinished: boolean

  private constructor(text: string, isUnfinished: boolean) {
    this.text = text
    this.isUnfinished = isUnfinished
  }

  /** Returns null if an analysed text is not a sequence of syllables. If it is unfinished, the last one may be incomplete. */
  static of(text: string, isUnfinished: boolean): Pinyin | null {
    if (text.length < LETTERS_MIN || text.length > LETTERS_MAX || !LATIN.test(text)) return null
    const pinyin = new Pinyin(text, isUnfinished)
    return pinyin.hasSyllables ? pinyin : null
  }

  private get hasSyllables(): boolean {
    let reached: Reached = 1
    for (let at = 0; at < this.text.length; at++)
      if ((reached & (1 << at)) !== 0)
        for (const syllable of readings.alike(this.text.charAt(at))) reached |= this.after(at, syllable)
    return this.reads(reached) !== null
  }

  /** Characters with which words may begin, without order. */
  get firstCharacters(): ReadonlySet<string> {
    const possible = readings.alike(this.text).filter((syllable) => this.after(0, syllable) !== 0)
    return new Set(possible.flatMap((syllable) => Array.from(readings.charactersOf(syllable))))
  }

  /** Returns how a word is read; null if otherwise than the text. */
  readsWord(word: string): Reads | null {
    let reached: Reached = 1
    for (const character of word) {
      reached = this.next(reached, character)
      if (reached === 0) return null
    }
    return this.reads(reached)
  }

  /** Reads one more character of a word. 0 if no reading of the characters so far agrees with the text. */
  private next(reached: Reached, character: string): Reached {
    const end = this.text.length
    let after = reached & OPEN
    if (this.isUnfinished && (reached & (1 << end)) !== 0) after |= OPEN
    readings.each(character, (syllable) => {
      for (let at = 0; at < end; at++) if ((reached & (1 << at)) !== 0) after |= this.after(at, syllable)
    })
    return after
  }

  private reads(reached: Reached): Reads | null {
    if ((reached & (1 << this.text.length)) !== 0) return 'complete'
    return (reached & OPEN) !== 0 ? 'beginning' : null
  }

  /** Returns the bit of the offset after a syllable at `at`. */
  private after(at: number, syllable: string): Reached {
    if (this.text.startsWith(syllable, at)) return 1 << (at + syllable.length)
    return this.isUnfinished && syllable.startsWith(this.text.slice(at)) ? OPEN : 0
  }
}
