/**
 * Builds the synonyms of an index.
 *
 * Source: search §5.4, settings §6.3.
 * 1. Keys and alternatives are tokenized like documents; a key may have several words.
 * 2. Keys that normalise to the same words share their alternatives, without duplicates, in the given order.
 * 3. Entries without any word are ignored.
 */
import type { Tokenizer } from '../analysis/tokenize.js'
import type { PhraseWords } from './parse.js'

/** Entries with keys of at least this many bytes are ignored. */
const KEY_BYTES_MAX = 500

/** Normalised words of a key, joined by a space → alternatives in order, without repetitions. */
export type Synonyms = ReadonlyMap<string, readonly PhraseWords[]>

export function synonymsOf(
  synonyms: Readonly<Record<string, readonly string[]>>,
  tokenizer: Tokenizer,
): Synonyms {
  const found = new Map<string, Map<string, PhraseWords>>()
  for (const [key, values] of Object.entries(synonyms)) {
    const words = tokenizer.words(key)
    if (
      words.length === 0 ||
      words.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0) >= KEY_BYTES_MAX
    )
      continue
    const name = words.join(' ')
    const alternatives = found.get(name) ?? new Map<string, PhraseWords>()
    found.set(name, alternatives)
    for (const value of values) {
      const phrase = tokenizer.words(value)
      if (phrase.length > 0) alternatives.set(phrase.join(' '), phrase)
    }
  }
  return new Map([...found].map(([name, alternatives]) => [name, [...alternatives.values()]]))
}
