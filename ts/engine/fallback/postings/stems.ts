/** Maps stems to words. */
import type { Stemmer } from '../analysis/stemmer.js'
import type { TermDictionary } from './postings.js'

/** Words by their stems, in dictionary order. Words that are their own stems are left out: the dictionary has them. */
export type StemmedWords = ReadonlyMap<string, readonly string[]>

export function stemmed(dictionary: TermDictionary, stemmer: Stemmer): StemmedWords {
  const words = new Map<string, string[]>()
  for (const word of dictionary.sorted) {
    const stem = stemmer.stem(word)
    if (stem === null || stem === word) continue
    const same = words.get(stem)
    if (same === undefined) words.set(stem, [word])
    else same.push(word)
  }
  return words
}
