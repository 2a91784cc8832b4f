/** Reduces words to their stems. */
import { create as arabic } from './snowball/arabic.js'
import { create as armenian } from './snowball/armenian.js'
import { create as catalan } from './snowball/catalan.js'
import { create as danish } from './snowball/danish.js'
import { create as dutch } from './snowball/dutch.js'
import { create as english } from './snowball/english.js'
import { create as esperanto } from './snowball/esperanto.js'
import { create as estonian } from './snowball/estonian.js'
import { create as finnish } from './snowball/finnish.js'
import { create as french } from './snowball/french.js'
import { create as german } from './snowball/german.js'
import { create as greek } from './snowball/greek.js'
import { create as hindi } from './snowball/hindi.js'
import { create as hungarian } from './snowball/hungarian.js'
import { create as indonesian } from './snowball/indonesian.js'
import { create as italian } from './snowball/italian.js'
import { create as lithuanian } from './snowball/lithuanian.js'
import { create as nepali } from './snowball/nepali.js'
import { create as norwegian } from './snowball/norwegian.js'
import { create as portuguese } from './snowball/portuguese.js'
import { create as romanian } from './snowball/romanian.js'
import { create as russian } from './snowball/russian.js'
import { create as serbian } from './snowball/serbian.js'
import { create as spanish } from './snowball/spanish.js'
import { create as swedish } from './snowball/swedish.js'
import { create as tamil } from './snowball/tamil.js'
import { create as turkish } from './snowball/turkish.js'
import { create as yiddish } from './snowball/yiddish.js'

/** What the generated code offers. */
interface Snowball {
  stemWord(word: string): string
}

/** By three-letter code. `ts/settings/word-languages.ts` lists the same codes. */
const factories: Readonly<Record<string, () => Snowball>> = {
  ara: arabic,
  cat: catalan,
  dan: danish,
  deu: german,
  ell: greek,
  eng: english,
  epo: esperanto,
  est: estonian,
  fin: finnish,
  fra: french,
  hin: hindi,
  hun: hungarian,
  hye: armenian,
  ind: indonesian,
  ita: italian,
  lit: lithuanian,
  nep: nepali,
  nld: dutch,
  nob: norwegian,
  por: portuguese,
  ron: romanian,
  rus: russian,
  spa: spanish,
  srp: serbian,
  swe: swedish,
  tam: tamil,
  tur: turkish,
  yid: yiddish,
}

const DIGIT = /[0-9]/

/** The Snowball stemmer of a language. */
export class Stemmer {
  readonly code: string
  private readonly snowball: Snowball

  constructor(code: string) {
    this.code = code
    this.snowball = factories[code]!()
  }

  /** Returns the stem of an analysed word, null for a word with digits. */
  stem(word: string): string | null {
    return DIGIT.test(word) ? null : this.snowball.stemWord(word)
  }
}
