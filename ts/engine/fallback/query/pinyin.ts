/** Finds Chinese words by their pinyin. */
import { Pinyin } from '../analysis/pinyin/pinyin.js'
import type { TermDictionary } from '../postings/postings.js'

/** Limits of a search for words by their pinyin. `candidatesMax`: words examined, the first ones in dictionary order. */
interface PinyinLimits {
  readonly max: number
  readonly candidatesMax: number
}

/** The words of an index that may be Chinese: their order, and the range of those with a first character. */
export interface ChineseWords {
  readonly sorted: readonly string[]
  readonly ranges: ReadonlyMap<string, readonly [from: number, to: number]>
}

/** All Chinese characters come after this one. */
const FIRST = '\u3000'

export function chineseWords(dictionary: TermDictionary): ChineseWords {
  const { sorted } = dictionary
  const ranges = new Map<string, readonly [number, number]>()
  for (let from = dictionary.lowerBound(FIRST), to = from; from < sorted.length; from = to) {
    const character = String.fromCodePoint(sorted[from]!.codePointAt(0)!)
    while (to < sorted.length && sorted[to]!.startsWith(character)) to++
    ranges.set(character, [from, to])
  }
  return { sorted, ranges }
}

interface Found {
  readonly word: string
  readonly isComplete: boolean
  readonly length: number
}

/** Returns the words that are read as `pinyin`: complete ones first, then shorter ones, then in dictionary order. */
export function wordsReadAs(
  pinyin: Pinyin,
  { sorted: words, ranges }: ChineseWords,
  { max, candidatesMax }: PinyinLimits,
): readonly string[] {
  const found: Found[] = []
  const possible = [...pinyin.firstCharacters].flatMap((character) => {
    const range = ranges.get(character)
    return range === undefined ? [] : [range]
  })
  for (const [from, to] of possible.sort(([a], [b]) => a - b))
    for (let at = from; at < to && found.length < candidatesMax; at++) {
      const word = words[at]!
      const reads = pinyin.readsWord(word)
      if (reads !== null)
        found.push({ word, isComplete: reads === 'complete', length: Array.from(word).length })
    }
  const sorted = found.sort((a, b) => Number(b.isComplete) - Number(a.isComplete) || a.length - b.length)
  return sorted.slice(0, max).map(({ word }) => word)
}

/** Cuts of an unknown word into two halves with the words that are read as them. */
export function halvesReadAs(
  text: string,
  isUnfinished: boolean,
  words: ChineseWords,
  { firstMax, ...limits }: PinyinLimits & { readonly firstMax: number },
): readonly (readonly [left: string, right: string])[] {
  const pairs: [string, string][] = []
  for (let at = 1; at < text.length; at++) {
    const left = Pinyin.of(text.slice(0, at), false)
    const right = left === null ? null : Pinyin.of(text.slice(at), isUnfinished)
    if (left === null || right === null) continue
    const lefts = wordsReadAs(left, words, { ...limits, max: firstMax })
    const rights = lefts.length === 0 ? [] : wordsReadAs(right, words, limits)
    for (const word of lefts) for (const other of rights) pairs.push([word, other])
  }
  return pairs
}
