/** Generates random films, the same every time: a corpus for clones without other data. */
import { generator } from './corpus.js'

const GENRES = ['Drama', 'Comedy', 'Action', 'Horror', 'Romance', 'Western', 'Science Fiction', 'History']
const ONSETS = [
  'b',
  'c',
  'd',
  'f',
  'g',
  'h',
  'l',
  'm',
  'n',
  'p',
  'r',
  's',
  't',
  'v',
  'w',
  'st',
  'tr',
  'gr',
  '',
]
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ea', 'oo']
const CODAS = ['', 'n', 'r', 's', 't', 'l', 'm', 'ck', 'nd']
/** Vocabulary size. 36,273 real films have about sixty thousand words. */
const WORDS = 60_000

/** Random words. */
export interface MadeWords {
  /** Returns a random entry. */
  pick<T>(list: readonly T[]): T
  /** Returns `length` words. They follow Zipf's law, as in real texts. */
  text(length: number): string
  /** Returns the text with a capital at the begin of each word. */
  capital(text: string): string
}

export function madeWords(random: () => number): MadeWords {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const syllable = () => pick(ONSETS) + pick(VOWELS) + pick(CODAS)
  const words = Array.from({ length: WORDS }, (_, rank) => {
    const syllables = 1 + Math.floor(random() * (rank < 100 ? 1 : 3))
    return Array.from({ length: syllables }, syllable).join('')
  })
  // Approximates the inverse of Zipf's distribution function: rank = WORDS ^ uniform.
  const word = () => words[Math.floor(WORDS ** random()) - 1] ?? words[0]!
  return {
    pick,
    text: (length) => Array.from({ length }, word).join(' '),
    capital: (text) => text.replace(/(^|\s)\p{L}/gu, (letter) => letter.toUpperCase()),
  }
}

/**
 * Returns NDJSON of `count` films with title, year, cast, genres and overview. Nearly every overview contains
 * the most frequent word.
 */
export function madeFilms(count: number): Buffer {
  const random = generator(7)
  const { pick, text, capital } = madeWords(random)
  const lines: string[] = []
  for (let id = 1; id <= count; id++) {
    const film = {
      id,
      title: capital(text(1 + Math.floor(random() * 5))),
      year: 1900 + Math.floor(random() * 124),
      cast: Array.from({ length: 1 + Math.floor(random() * 5) }, () => capital(text(2))),
      genres: [...new Set([pick(GENRES), pick(GENRES)])],
      overview: `${capital(text(1))} ${text(20 + Math.floor(random() * 60))}.`,
    }
    lines.push(JSON.stringify(film))
  }
  return Buffer.from(`${lines.join('\n')}\n`)
}
