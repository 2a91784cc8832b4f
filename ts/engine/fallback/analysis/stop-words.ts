/** Lists of words that are frequent in every text of a language, such as articles and pronouns. */
import { lines } from './snowball/stop-words.js'

/** Returns the analysed stop words of some languages, by three-letter codes. */
export function stopWordsOf(codes: readonly string[]): ReadonlySet<string> {
  const chosen = lines.map((line) => line.split(' ')).filter(([code]) => codes.includes(code!))
  return new Set(chosen.flatMap(([, ...words]) => words))
}
