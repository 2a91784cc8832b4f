/** Made when first used: the runtime's rules of words take longer to load than most modules. */
let segmenter: Intl.Segmenter | null = null

/** The words of a text without case and accents, each once. */
export function foldedWords(text: string): string[] {
  const folded = text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
  segmenter ??= new Intl.Segmenter('und', { granularity: 'word' })
  const words = Array.from(segmenter.segment(folded)).filter(({ isWordLike }) => isWordLike)
  return [...new Set(words.map(({ segment }) => segment))]
}
