/** Whether two minimum word sizes are in order, so that a word that may have two typos may have one. */
export const isTypoWordSizeOrder = (oneTypo: number, twoTypos: number): boolean => oneTypo <= twoTypos

const expanded: Readonly<Record<string, string>> = { æ: 'ae', œ: 'oe', '’': "'", '‘': "'" }

/**
 * A word as the analysis of the engines normalises it: decomposed, in lower case, without accents. Voicing marks of
 * kana stay, since they make another letter.
 */
export function normalizedWord(word: string): string {
  return word
    .normalize('NFKD')
    .toLowerCase()
    .replace(/(?![\u3099\u309a])\p{Mn}/gu, '')
    .replace(/[æœ’‘]/g, (letter) => expanded[letter] ?? letter)
}
