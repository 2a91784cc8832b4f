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
  for (const { segment, isWordLike } of segmentsOf(text)) {
    if (!isWordLike) continue
    words.add(segment)
    if (words.size >= wordsMax) return words
  }
  return words
}

/** Like `foldedWords`, for a query: omits words of phrases, and words that it excludes with `-`. */
export function queryWords(q: string, wordsMax: number): ReadonlySet<string> {
  const words = new Set<string>()
  if (wordsMax <= 0) return words
  let isQuoted = false
  let isExcluded = false
  for (const { segment, isWordLike, startsPart } of segmentsOf(q)) {
    if (startsPart) isExcluded = false
    if (!isWordLike) {
      for (const [at, character] of [...segment].entries()) {
        if (character === '"') {
          isExcluded = false
          isQuoted = !isQuoted
        } else if (!isQuoted) isExcluded = character === '-' && at === 0 && startsPart
      }
    } else if (isExcluded) isExcluded = false
    else if (!isQuoted) {
      words.add(segment)
      if (words.size >= wordsMax) return words
    }
  }
  return words
}

/** Yields the segments of the first `TEXT_CHARS_MAX` units of a text, without case and accents. */
function* segmentsOf(
  text: string,
): Generator<{ readonly segment: string; readonly isWordLike: boolean; readonly startsPart: boolean }> {
  for (const [part] of folded(text.slice(0, TEXT_CHARS_MAX)).matchAll(BETWEEN_BLANKS)) {
    if (PLAIN_WORD.test(part)) {
      yield { segment: part, isWordLike: true, startsPart: true }
      continue
    }
    let startsPart = true
    for (const { segment, isWordLike } of segmenter.segments(part)) {
      yield { segment, isWordLike, startsPart }
      startsPart = false
    }
  }
}

/** Returns the text without case and accents. */
export const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
