/**
 * Segments text that is written without spaces.
 *
 * Source: search §2.1 step 4.
 * 1. Chinese is segmented with jieba's dictionary, like in the native engine, and long words are segmented again.
 * 2. Japanese and Korean are segmented with the dictionaries of optional packages, see `words/`. Without them,
 *    `Intl.Segmenter` segments Japanese with data of the runtime, and Korean is not segmented: 2024년 is one word. A run
 *    of katakana is one word then, because it writes foreign names that dictionaries lack.
 * 3. Thai and Khmer are segmented by the word lists of the native engine.
 * 4. The Arabic article is a separate word in Arabic and Persian, but not in other languages of the script.
 * 5. German compounds are not split: the only list of their parts that matches the recorded answers may not be
 *    distributed under its license.
 */
import { createRequire } from 'node:module'
import type * as Jieba from 'jieba-wasm'
import { WordSegmenter } from '../../word-segments.js'
import { khmer } from './dictionaries/khmer.js'
import { thai } from './dictionaries/thai.js'
import type { Writing } from './normalise.js'
import { ARABIC, CJ, HANGUL, KHMER, THAI } from './scripts.js'
import { WordList } from './word-list.js'
import type { Dictionaries } from './words/index.js'

const japanese = new WordSegmenter('ja')
const thaiWords = new WordList(thai)
const khmerWords = new WordList(khmer)

function* segmentWith(segmenter: WordSegmenter, text: string): Generator<string> {
  for (const { segment } of segmenter.segments(text)) yield segment
}

const KATAKANA = /([\p{Script=Katakana}\u30fc\uff70]+)/u

function* japaneseWords(text: string): Generator<string> {
  for (const [at, part] of text.split(KATAKANA).entries()) {
    if (at % 2 === 1) yield part
    else yield* segmentWith(japanese, part)
  }
}

let jieba: typeof Jieba | null = null

/** Loaded with the first Chinese text: the dictionary takes half a second and 60 MB. */
function chineseDictionary(): typeof Jieba {
  jieba ??= createRequire(import.meta.url)('jieba-wasm') as typeof Jieba
  return jieba
}

/** Splits words of more than two characters again: into two characters that are a word, else three, else one. */
function shortWords(word: string): string[] {
  const characters = Array.from(word)
  if (characters.length <= 2 || /^[0-9A-Za-z]+$/.test(word)) return [word]
  const { cut_all } = chineseDictionary()
  const isWord = (text: string): boolean => cut_all(text).includes(text)
  const words: string[] = []
  for (let at = 0; at < characters.length; ) {
    const size = [2, 3].find(
      (size) => at + size <= characters.length && isWord(characters.slice(at, at + size).join('')),
    )
    words.push(characters.slice(at, at + (size ?? 1)).join(''))
    at += size ?? 1
  }
  return words
}

function* chineseWords(text: string): Generator<string> {
  for (const word of chineseDictionary().cut(text, false)) yield* shortWords(word)
}

const ARTICLES = ['ال', 'أل', 'إل', 'آل', 'ٱل']

/** Splits off the Arabic article if a word follows it. */
function withoutArticle(text: string): string[] {
  // Two letters of two bytes each: true for anything longer than the article itself.
  return text.length > 2 && ARTICLES.includes(text.slice(0, 2)) ? [text.slice(0, 2), text.slice(2)] : [text]
}

/** Splits a piece without separators into consecutive words. Lazy, so that a caller may stop early. */
export function segments(
  piece: string,
  { script, language }: Writing,
  dictionaries: Dictionaries,
): Iterable<string> {
  if (script === ARABIC) return language === 'ara' || language === 'pes' ? withoutArticle(piece) : [piece]
  if (script === CJ) {
    if (language === 'jpn') return dictionaries.cutter('jpn')?.words(piece) ?? japaneseWords(piece)
    return language === null || language === 'cmn' || language === 'zho' ? chineseWords(piece) : [piece]
  }
  if (script === HANGUL) return dictionaries.cutter('kor')?.words(piece) ?? [piece]
  if (script === THAI) return thaiWords.segments(piece)
  if (script === KHMER) return khmerWords.segments(piece)
  return [piece]
}
