/** Returns true if minimum word sizes are in order: a word that may have two typos may also have one. */
export const isTypoWordSizeOrder = (oneTypo: number, twoTypos: number): boolean => oneTypo <= twoTypos

const expanded: Readonly<Record<string, string>> = { æ: 'ae', œ: 'oe', '’': "'", '‘': "'" }

/**
 * Normalises a word like the engines do: decomposed, in lower case, without accents. Keeps voicing marks of kana,
 * because they make another letter.
 */
export function normalizedWord(word: string): string {
  return word
    .normalize('NFKD')
    .toLowerCase()
    .replace(/(?![\u3099\u309a])\p{Mn}/gu, '')
    .replace(/[æœ’‘]/g, (letter) => expanded[letter] ?? letter)
}
