/** Finds compounds: words of the index that consist of a word and another word of the index. */
import type { Compounds } from '../analysis/compounds.js'
import { type Endings, wordsEndingWith } from '../postings/endings.js'
import type { TermDictionary } from '../postings/postings.js'
import { compareUtf8 } from '../store/text-order.js'

/** Limits of a search for compounds. `candidatesMax`: words examined on each side of the word. */
interface CompoundLimits {
  readonly max: number
  readonly candidatesMax: number
}

/** Returns the first compounds, in dictionary order, that begin or end with `word`. */
export function compoundsWith(
  word: string,
  rules: Compounds,
  { dictionary, endings }: { readonly dictionary: TermDictionary; readonly endings: () => Endings },
  { max, candidatesMax }: CompoundLimits,
): readonly string[] {
  if (!rules.isSought(word)) return []
  const isKnown = (part: string): boolean => rules.isPart(part) && dictionary.has(part)
  const found = new Set<string>()
  for (const start of [word, rules.shortened(word)]) {
    if (start === null) continue
    const [from, to] = dictionary.prefixRange(start)
    const candidates = dictionary.sorted
      .slice(from, Math.min(to, from + candidatesMax + 1))
      .filter((candidate) => candidate !== word)
    for (const candidate of candidates.slice(0, candidatesMax)) {
      const parts = rules.secondParts(candidate.slice(start.length))
      // Linking letters take the place of the dropped one.
      if ((start === word ? parts : parts.slice(0, 1)).some(isKnown)) found.add(candidate)
    }
  }
  const candidates = wordsEndingWith(endings(), word).filter((candidate) => candidate !== word)
  for (const candidate of candidates.sort(compareUtf8).slice(0, candidatesMax))
    if (rules.firstParts(candidate.slice(0, -word.length)).some(isKnown)) found.add(candidate)
  return [...found].sort(compareUtf8).slice(0, max)
}
