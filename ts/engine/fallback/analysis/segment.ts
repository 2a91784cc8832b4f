/**
 * Where do words end in a text written without spaces?
 *
 * Source: search §2.1 step 4.
 *  1. Chinese is cut by jieba's dictionary, as the native engine does, and long words once more.
 *  2. Japanese, Korean, Thai and Khmer are cut by `Intl.Segmenter`, whose data comes with the runtime. Katakana writes
 *     foreign names, which no dictionary has, so a run of it is one word.
 *  3. The Arabic article is a word of its own.
 *  4. German compounds stay whole: the one list of their parts that the recorded answers follow is not
 *     licensed so that it could be shipped here.
 */
import { createRequire } from 'node:module'
import type * as Jieba from 'jieba-wasm'
import { WordSegmenter } from '../../word-segments.js'
import type { Writing } from './normalise.js'
import { ARABIC, CJ, HANGUL, KHMER, THAI } from './scripts.js'

const japanese = new WordSegmenter('ja')
const korean = new WordSegmenter('ko')
const thai = new WordSegmenter('th')
const khmer = new WordSegmenter('km')

function* cutBy(segmenter: WordSegmenter, text: string): Generator<string> {
  for (const { segment } of segmenter.segments(text)) yield segment
}

const KATAKANA = /([\p{Script=Katakana}\u30fc\uff70]+)/u

function* japaneseWords(text: string): Generator<string> {
  for (const [at, part] of text.split(KATAKANA).entries()) {
    if (at % 2 === 1) yield part
    else yield* cutBy(japanese, part)
  }
}

let jieba: typeof Jieba | null = null

/** Loaded with the first Chinese text: its dictionary takes half a second and 60 MB. */
function chineseDictionary(): typeof Jieba {
  jieba ??= createRequire(import.meta.url)('jieba-wasm') as typeof Jieba
  return jieba
}

/** Words of more than two characters are cut again: the first pair the dictionary has, else three, else one. */
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

/** The Arabic article is a word of its own if something follows it. */
function withoutArticle(text: string): string[] {
  // Two letters of two bytes each: anything longer than the article itself.
  return text.length > 2 && ARTICLES.includes(text.slice(0, 2)) ? [text.slice(0, 2), text.slice(2)] : [text]
}

/** Cuts a piece without separators into words that join up to it again. Made one by one, so that a caller may stop early. */
export function segments(piece: string, { script, language }: Writing): Iterable<string> {
  if (script === ARABIC) return withoutArticle(piece)
  if (script === CJ) {
    if (language === 'jpn') return japaneseWords(piece)
    return language === null || language === 'cmn' || language === 'zho' ? chineseWords(piece) : [piece]
  }
  if (script === HANGUL) return cutBy(korean, piece)
  if (script === THAI) return cutBy(thai, piece)
  if (script === KHMER) return cutBy(khmer, piece)
  return [piece]
}
