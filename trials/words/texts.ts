/** Random texts from the words of a dictionary. */
import { readWordDictionary } from '../../ts/engine/fallback/analysis/words/dictionary.js'

const WORDS_MAX = 6
/** Blanks and marks would be cut out before the dictionary is asked. */
const PLAIN = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+$/u

/** @param file a word dictionary */
export function randomTexts(
  file: string,
  { count, seed }: { readonly count: number; readonly seed: number },
): string[] {
  const words = wordsOf(file)
  let state = seed
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % limit
  }
  const text = (): string =>
    Array.from({ length: 1 + below(WORDS_MAX) }, () => words[below(words.length)]!).join('')
  return Array.from({ length: count }, text)
}

function wordsOf(file: string): string[] {
  const { labels, children, words } = readWordDictionary(file)
  const found: string[] = []
  // Parents come before their children.
  const texts: string[] = ['']
  for (let node = 0; node < labels.length; node++) {
    const text = texts[node]!
    if (words[node] !== 0 && PLAIN.test(text)) found.push(text)
    for (let child = children[node]!; child < children[node + 1]!; child++)
      texts[child] = text + String.fromCharCode(labels[child]!)
  }
  return found
}
