/**
 * Normalises tokens to words.
 *
 * Source: search §2.3. Decomposition comes first, because stop words and separators are recognised between it and the
 * folding of case and marks.
 * 1. Everything is decomposed; in Swedish three letters are kept.
 * 2. Case is folded in five scripts, and marks are dropped in five scripts, which are not the same: й is not и.
 * 3. Chinese characters are unified by the list in `variants.ts`; katakana becomes hiragana.
 * 4. Letters are folded by a list, not by their look: đ becomes d, but ł and ø stay.
 */
import { ARABIC, ARMENIAN, CJ, CYRILLIC, GEORGIAN, GREEK, HEBREW, LATIN, THAI } from './scripts.js'
import { chineseVariant } from './variants.js'

/** Script class and, if known, three-letter language code of a token; both affect folding. */
export interface Writing {
  readonly script: number
  readonly language: string | null
}

const CONTROLS = /(?!\p{White_Space})\p{Cc}/gu
const MARKS = /\p{Mn}/gu
const SWEDISH = /[aAoO]\u0308|[aA]\u030a/g
const MARKLESS: ReadonlySet<number> = new Set([LATIN, GREEK, HEBREW, ARABIC, THAI])
const CASED: ReadonlySet<number> = new Set([LATIN, CYRILLIC, GREEK, GEORGIAN, ARMENIAN])
const PLAIN = /^[\x20-\x7e]*$/

const PERSIAN: Readonly<Record<string, string>> = {
  ك: 'ک',
  ي: 'ی',
  ى: 'ی',
  '۰': '0',
  '۱': '1',
  '۲': '2',
  '۳': '3',
  '۴': '4',
  '۵': '5',
  '۶': '6',
  '۷': '7',
  '۸': '8',
  '۹': '9',
}

/** Steps 1–3: compatibility decomposition without control characters. Stop words are compared in this form. */
export function decomposed(text: string, language: string | null = null): string {
  if (PLAIN.test(text)) return text
  const expanded = text.normalize('NFKD').replace(CONTROLS, '')
  return language === 'swe' ? expanded.replace(SWEDISH, (letter) => letter.normalize('NFC')) : expanded
}

/** Steps 5–9: folds case, letter variants and marks. @param text decomposed */
export function folded(text: string, { script, language }: Writing): string {
  if (PLAIN.test(text)) return CASED.has(script) ? text.toLowerCase() : text
  let word = text
  if (language === 'pes') word = word.replace(/[\u0600-\u06ff]/g, (letter) => PERSIAN[letter] ?? letter)
  // Replace Σ first: `toLowerCase` would treat a sigma at the end of a word differently.
  if (CASED.has(script)) word = word.replace(/Σ/g, 'σ').toLowerCase()
  if (script === LATIN) word = word.replace(/[’‘‛]/g, "'").replace(/[œŒ]/g, 'oe').replace(/[æÆ]/g, 'ae')
  else if (script === CJ) word = foldedCj(word, language)
  else if (script === GREEK) word = word.replace(/ς$/, 'σ')
  else if (script === ARABIC)
    word = word
      .replace(/ـ/g, '')
      .replace(/[آأإٱ]/g, 'ا')
      .replace(/ى/g, 'ي')
      .replace(/ة/g, 'ه')
  if (MARKLESS.has(script)) word = word.replace(MARKS, '')
  if (script === LATIN) word = word.replace(/[đĐðÐ]/g, 'd').replace(/ı/g, 'i')
  return word
}

function foldedCj(word: string, language: string | null): string {
  let folded = word
  if (language === null || language === 'cmn' || language === 'zho')
    folded = Array.from(folded, chineseVariant).join('')
  return language === null || language === 'jpn' ? hiragana(folded) : folded
}

/** Kana by the vowel that a following long mark repeats; after o it is u. */
const LENGTHENED: readonly (readonly [string, string])[] = [
  ['あ', 'ぁあかさたなはまゃやらゎわ'],
  ['い', 'ぃいきしちにひみりゐ'],
  ['う', 'ぅうくすつぬふむゅゆる'],
  ['え', 'ぇえけせてねへめれゑ'],
  ['う', 'ぉおこそとのほもょよろを'],
]
const vowelByKana = new Map(
  LENGTHENED.flatMap(([vowel, all]) => Array.from(all, (kana) => [kana, vowel] as const)),
)
const LONG_MARK = 'ー'

/**
 * Converts katakana to hiragana. A long mark repeats the vowel before it. After a kana without a vowel it is dropped.
 * After anything else, including the mark of a voiced kana, it is kept.
 */
function hiragana(word: string): string {
  let written = ''
  let before: string | null = null
  for (const letter of word) {
    if (letter === LONG_MARK && before !== null) {
      written += vowelByKana.get(before) ?? ''
    } else if (letter >= 'ァ' && letter <= 'ヴ') {
      before = String.fromCharCode(letter.charCodeAt(0) - 0x60)
      written += before
    } else {
      written += letter
      // These characters may occur between kana without ending the run.
      if (!'・ヵヶ'.includes(letter)) before = null
    }
  }
  return written
}
