/** Orders words by their ends. */
import type { TermDictionary } from './postings.js'

/** Bytes of the shortest word that is listed: the shortest compound. */
const WORD_BYTES_MIN = 7
const DIGIT = /[0-9]/

/** Long words without digits, reversed, in order. */
export type Endings = readonly string[]

const reversed = (word: string): string => {
  let text = ''
  for (let at = word.length - 1; at >= 0; at--) text += word[at]
  return text
}

export const endingsOf = (dictionary: TermDictionary): Endings =>
  dictionary.sorted
    .filter((word) => Buffer.byteLength(word) >= WORD_BYTES_MIN && !DIGIT.test(word))
    .map(reversed)
    .sort()

/** Returns the words that end with `end`, in no particular order. */
export function wordsEndingWith(endings: Endings, end: string): string[] {
  const start = reversed(end)
  let [low, high] = [0, endings.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (endings[middle]! < start) low = middle + 1
    else high = middle
  }
  const words: string[] = []
  for (let at = low; at < endings.length && endings[at]!.startsWith(start); at++)
    words.push(reversed(endings[at]!))
  return words
}
