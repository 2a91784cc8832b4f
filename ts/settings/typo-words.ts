/** Whether two minimum sizes fit together: what allows two typos must allow one. */
export const isTypoWordSizeOrder = (oneTypo: number, twoTypos: number): boolean => oneTypo <= twoTypos

const expanded: Readonly<Record<string, string>> = { æ: 'ae', œ: 'oe', '’': "'", '‘': "'" }

/**
 * A word as the engines' analysis normalises it: decomposed, lower case, without accents. Voicing marks
 * of kana stay: they make another letter, not an accent.
 */
export function normalizedWord(word: string): string {
  return word
    .normalize('NFKD')
    .toLowerCase()
    .replace(/(?![\u3099\u309a])\p{Mn}/gu, '')
    .replace(/[æœ’‘]/g, (letter) => expanded[letter] ?? letter)
}
