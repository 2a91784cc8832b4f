/** Finds Chinese words by their pinyin. */
import { Pinyin } from '../analysis/pinyin/pinyin.js'
import type { TermDictionary } from '../postings/postings.js'
import { compareUtf8 } from '../store/text-order.js'

/** Limits of a search for words by their pinyin. `candidatesMax`: words examined, the first ones in dictionary order. */
export interface PinyinLimits {
  readonly max: number
  readonly candidatesMax: number
}

interface Found {
  readonly word: string
  readonly isComplete: boolean
  readonly length: number
}

/** Returns the words that are read as `pinyin`: complete ones first, then shorter ones, then in dictionary order. */
export function wordsReadAs(
  pinyin: Pinyin,
  dictionary: TermDictionary,
  { max, candidatesMax }: PinyinLimits,
): readonly string[] {
  const found: Found[] = []
  for (const character of [...pinyin.firstCharacters].sort(compareUtf8)) {
    const [from, to] = dictionary.prefixRange(character)
    for (let at = from; at < to && found.length < candidatesMax; at++) {
      const word = dictionary.sorted[at]!
      const reads = pinyin.readsWord(word)
      if (reads !== null)
        found.push({ word, isComplete: reads === 'complete', length: Array.from(word).length })
    }
  }
  const sorted = found.sort((a, b) => Number(b.isComplete) - Number(a.isComplete) || a.length - b.length)
  return sorted.slice(0, max).map(({ word }) => word)
}

/** Cuts of an unknown word into two halves with the words that are read as them. */
export function halvesReadAs(
  text: string,
  isUnfinished: boolean,
  dictionary: TermDictionary,
  { firstMax, ...limits }: PinyinLimits & { readonly firstMax: number },
): readonly (readonly [left: string, right: string])[] {
  const pairs: [string, string][] = []
  for (let at = 1; at < text.length; at++) {
    const left = Pinyin.of(text.slice(0, at), false)
    const right = left === null ? null : Pinyin.of(text.slice(at), isUnfinished)
    if (left === null || right === null) continue
    const lefts = wordsReadAs(left, dictionary, { ...limits, max: firstMax })
    const rights = lefts.length === 0 ? [] : wordsReadAs(right, dictionary, limits)
    for (const word of lefts) for (const other of rights) pairs.push([word, other])
  }
  return pairs
}
