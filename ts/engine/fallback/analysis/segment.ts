/**
 * Where do words end in a text written without spaces?
 *
 * Chinese, Japanese, Korean, Thai and Khmer are cut by `Intl.Segmenter`, whose data comes with the runtime.
 * Source: spec/search-semantics.md §2.1 step 4.
 */
import type { Writing } from './normalise.js'
import { ARABIC, CJ, HANGUL, KHMER, THAI } from './scripts.js'

const segmenters = new Map<string, Intl.Segmenter>()

function bySegmenter(text: string, locale: string): string[] {
  let segmenter = segmenters.get(locale)
  if (segmenter === undefined) {
    segmenter = new Intl.Segmenter(locale, { granularity: 'word' })
    segmenters.set(locale, segmenter)
  }
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

const ARTICLES = ['ال', 'أل', 'إل', 'آل', 'ٱل']

/** The Arabic article is a word of its own if something follows it. */
function withoutArticle(text: string): string[] {
  // Two letters of two bytes each: anything longer than the article itself.
  return text.length > 2 && ARTICLES.includes(text.slice(0, 2)) ? [text.slice(0, 2), text.slice(2)] : [text]
}

/** Cuts a piece without separators into words that join up to it again. */
export function segments(piece: string, { script, language }: Writing): readonly string[] {
  if (script === ARABIC) return withoutArticle(piece)
  if (script === CJ) {
    if (language === 'jpn') return bySegmenter(piece, 'ja')
    return language === null || language === 'cmn' || language === 'zho' ? bySegmenter(piece, 'zh') : [piece]
  }
  if (script === HANGUL) return bySegmenter(piece, 'ko')
  if (script === THAI) return bySegmenter(piece, 'th')
  if (script === KHMER) return bySegmenter(piece, 'km')
  return [piece]
}
