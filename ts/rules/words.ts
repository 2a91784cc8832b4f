const segmenter = new Intl.Segmenter('und', { granularity: 'word' })

/** The words of a text without case and accents, each once. */
export function foldedWords(text: string): string[] {
  const folded = text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
  const words = Array.from(segmenter.segment(folded)).filter(({ isWordLike }) => isWordLike)
  return [...new Set(words.map(({ segment }) => segment))]
}
