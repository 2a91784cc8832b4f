/** Unicode word segmentation, in time linear in the length of the text. */

/**
 * UTF-16 units given to `Intl.Segmenter` at a time. Node.js 20 copies the complete text for every segment it returns,
 * so segmenting a text in one call takes quadratic time (1.5 MB of Thai: minutes).
 */
const WINDOW = 512
/**
 * Boundaries closer to the end of a window than this may depend on the text after it. Longer than any dictionary word.
 */
const MARGIN = 64

/** Splits texts of one language into words and the text between them. */
export class WordSegmenter {
  readonly #locale: string
  /** Created at the first use, because it loads the dictionaries of the runtime. */
  #segmenter: Intl.Segmenter | null = null

  /** @param locale BCP 47; `und` for no language */
  constructor(locale: string) {
    this.#locale = locale
  }

  /** Yields the consecutive segments of `text`. Lazy, so that a caller may stop early. */
  *segments(text: string): Generator<{ readonly segment: string; readonly isWordLike: boolean }> {
    this.#segmenter ??= new Intl.Segmenter(this.#locale, { granularity: 'word' })
    let start = 0
    let size = WINDOW
    while (start < text.length) {
      const window = text.slice(start, start + size)
      const isLast = start + size >= text.length
      const trusted = isLast ? window.length : window.length - MARGIN
      let end = 0
      for (const { segment, isWordLike } of this.#segmenter.segment(window)) {
        if (end + segment.length > trusted) break
        end += segment.length
        yield { segment, isWordLike: isWordLike === true }
        // The window was enlarged for this long segment. The next ones are probably short again.
        if (size > WINDOW) break
      }
      start += end
      // A word without a trusted end needs a larger window.
      size = end === 0 ? 2 * size : WINDOW
    }
  }
}
