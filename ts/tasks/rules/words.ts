import { WordSegmenter } from '../../engine/index.js'
import { TEXT_CHARS_MAX } from './limits.js'

const segmenter = new WordSegmenter('und')
/** Blanks end every word, so the text between them can be segmented separately. */
const BETWEEN_BLANKS = /[^ \t\r\n]+/g
/** Text that segmentation would treat as a single word. */
const PLAIN_WORD = /^[a-z0-9]+$/

/**
 * Returns the first distinct words of a text, without case and accents. Reads at most `TEXT_CHARS_MAX` UTF-16 units of
 * the text.
 * @param wordsMax number of words after which reading ends
 */
export function foldedWords(text: string, wordsMax = Number.POSITIVE_INFINITY): ReadonlySet<string> {
  const words = new Set<string>()
  if (wordsMax <= 0) return words
  for (const [part] of folded(text.slice(0, TEXT_CHARS_MAX)).matchAll(BETWEEN_BLANKS)) {
    const segments = PLAIN_WORD.test(part) ? [{ segment: part, isWordLike: true }] : segmenter.segments(part)
    for (const { segment, isWordLike } of segments) {
      if (!isWordLike) continue
      words.add(segment)
      if (words.size >= wordsMax) return words
    }
  }
  return words
}

/** Returns the text without case and accents. */
export const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
