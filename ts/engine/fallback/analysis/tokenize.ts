/**
 * Splits a text into words and separators.
 *
 * Source: search §2. Documents, queries and highlighting share this tokenizer.
 * 1. A word never spans two scripts, a separator or a dictionary entry.
 * 2. Stop words are recognised by their decomposed form: case and accents matter.
 * 3. Separators are recognised after decomposition, so `…` is a word of three dots.
 */
import { arabicLanguage } from './arabic-languages.js'
import { decomposed, folded, type Writing } from './normalise.js'
import { ARABIC, ARMENIAN, CJ, HANGUL, isArmenian, KHMER, LATIN, OTHER, scriptOf, THAI } from './scripts.js'
import { segments } from './segment.js'
import { HARD_SEPARATOR, Separators, SOFT } from './separators.js'
import type { Dictionaries } from './words/index.js'

export const WORD = 0
const SOFT_SEPARATOR = 1
export const HARD = 2
export const STOP_WORD = 3
type TokenKind = typeof WORD | typeof SOFT_SEPARATOR | typeof HARD | typeof STOP_WORD

/** A word or separator. `start` and `end` are UTF-16 offsets in the text; `word` is the folded form. */
export interface Token extends Writing {
  readonly kind: TokenKind
  readonly word: string
  readonly start: number
  readonly end: number
}

/** Settings that affect tokenizing. */
interface TokenizerSettings {
  readonly stopWords: readonly string[]
  readonly separatorTokens: readonly string[]
  readonly nonSeparatorTokens: readonly string[]
  readonly dictionary: readonly string[]
}

const ASCII = /^\p{ASCII}*$/u
const UNSEGMENTED = /^[\p{N}!-/:-@[-`{-~]+$/u
const KANA = /[\u3040-\u30ff]/g
const HAN = /\p{Script=Han}/gu

/** Approximate bytes of a tokenizer without settings, and of each text in addition to its characters. */
const TOKENIZER_BYTES = 4096
const TEXT_BYTES = 64

/** State of tokenizing a text. */
interface TokenizerState {
  readonly tokens: Token[]
  wordsLeft: number
}

/** Tokenizes texts with the settings of an index. */
export class Tokenizer {
  private readonly separators: Separators
  private readonly stopWords: ReadonlySet<string>
  private readonly separatorKinds = new Map<string, TokenKind>()
  /** Approximate memory of its settings, in bytes. */
  readonly bytes: number
  readonly dictionaries: Dictionaries

  constructor(settings: TokenizerSettings, dictionaries: Dictionaries) {
    this.dictionaries = dictionaries
    this.separators = new Separators(
      settings.separatorTokens,
      settings.nonSeparatorTokens,
      settings.dictionary,
    )
    // In Swedish some letters are not decomposed.
    this.stopWords = new Set(settings.stopWords.flatMap((word) => [word, decomposed(word)]))
    const { stopWords, separatorTokens, nonSeparatorTokens, dictionary } = settings
    const texts = [stopWords, separatorTokens, nonSeparatorTokens, dictionary].flat()
    this.bytes = texts.reduce((sum, text) => sum + TEXT_BYTES + 2 * text.length, TOKENIZER_BYTES)
  }

  /**
   * @param locales possible languages of the text, empty for no restriction
   * @param wordsMax maximum number of words that are not empty, including stop words; the rest of the text is ignored
   */
  tokenize(text: string, locales: readonly string[], wordsMax = Number.POSITIVE_INFINITY): Token[] {
    const state: TokenizerState = { tokens: [], wordsLeft: wordsMax }
    const isAscii = ASCII.test(text)
    let start = 0
    while (start < text.length && state.wordsLeft > 0) {
      const run = isAscii ? { script: asciiScript(text), end: text.length } : runFrom(text, start)
      const writing = { script: run.script, language: languageOf(text, start, run, locales) }
      this.tokenizeRun(text, start, run.end, writing, state)
      start = run.end
    }
    return state.tokens
  }

  /** Folded words of a text, without stop words and separators. */
  words(text: string): string[] {
    return this.tokenize(text, []).flatMap(({ kind, word }) => (kind === WORD && word !== '' ? [word] : []))
  }

  private tokenizeRun(text: string, from: number, to: number, writing: Writing, state: TokenizerState): void {
    let pieceStart = from
    let at = from
    while (at < to && state.wordsLeft > 0) {
      const length = this.separators.matchLength(text, at)
      if (length === 0) {
        at++
        continue
      }
      if (pieceStart < at) this.tokenizePiece(text, pieceStart, at, writing, state)
      this.add(text, at, Math.min(at + length, to), writing, state)
      at += length
      pieceStart = at
    }
    if (pieceStart < to && state.wordsLeft > 0) this.tokenizePiece(text, pieceStart, to, writing, state)
  }

  private tokenizePiece(
    text: string,
    from: number,
    to: number,
    writing: Writing,
    state: TokenizerState,
  ): void {
    const { script, language } = writing
    const segmented = script === CJ || script === HANGUL || script === THAI || script === KHMER
    if ((!segmented && script !== ARABIC && language !== 'deu') || UNSEGMENTED.test(text.slice(from, to))) {
      this.add(text, from, to, writing, state)
      return
    }
    let start = from
    for (const segment of segments(text.slice(from, to), writing, this.dictionaries)) {
      if (state.wordsLeft <= 0) return
      this.add(text, start, start + segment.length, writing, state)
      start += segment.length
    }
  }

  private add(text: string, start: number, end: number, writing: Writing, state: TokenizerState): void {
    const token = this.token(text, start, end, writing)
    state.tokens.push(token)
    if ((token.kind === WORD || token.kind === STOP_WORD) && token.word !== '') state.wordsLeft--
  }

  private token(text: string, start: number, end: number, writing: Writing): Token {
    const raw = text.slice(start, end)
    const plain = decomposed(raw, writing.language)
    const kind = this.stopWords.has(plain) ? STOP_WORD : this.separatorKind(plain)
    const word = kind === WORD || kind === STOP_WORD ? folded(plain, writing) : plain
    return { kind, word, start, end, script: writing.script, language: writing.language }
  }

  private separatorKind(plain: string): TokenKind {
    // Only short texts are cached: long ones are rarely separators and rarely repeat.
    const known = plain.length <= 2 ? this.separatorKinds.get(plain) : undefined
    if (known !== undefined) return known
    const hardness = this.separators.hardness(plain)
    const kind = hardness === HARD_SEPARATOR ? HARD : hardness === SOFT ? SOFT_SEPARATOR : WORD
    if (plain.length <= 2) this.separatorKinds.set(plain, kind)
    return kind
  }
}

/**
 * Folds a complete text like its words, run by run. Used to compare facet values with a facet query.
 * @param text in the form of facet values
 */
export function foldedText(text: string, locales: readonly string[]): string {
  // A sigma has another form at the end of a word. A query may end within a word of the value.
  const form = text.replaceAll('ς', 'σ')
  let result = ''
  for (let start = 0; start < form.length; ) {
    const { script, end } = runFrom(form, start)
    const run = form.slice(start, end)
    // Languages are detected by composed letters.
    const composed = run.normalize('NFC')
    const language = languageOf(composed, 0, { script, end: composed.length }, locales)
    result += folded(decomposed(run, language), { script, language })
    start = end
  }
  return result
}

const asciiScript = (text: string): number => (/[A-Za-z]/.test(text) ? LATIN : OTHER)

/** Returns the longest run of a single script from `start`; characters without a script join any run. */
function runFrom(text: string, start: number): { script: number; end: number } {
  let script = OTHER
  let [scripted, armenian] = [0, 0]
  let at = start
  while (at < text.length) {
    const codePoint = text.codePointAt(at)!
    const here = scriptOf(codePoint)
    if (here !== OTHER && script !== OTHER && here !== script) break
    if (here !== OTHER) {
      script = here
      scripted++
    } else if (isArmenian(codePoint)) armenian++
    at += codePoint > 0xffff ? 2 : 1
  }
  return { script: armenian > scripted ? ARMENIAN : script, end: at }
}

/** Language of a run, if it affects tokenizing. Source: search §2.1. */
function languageOf(
  text: string,
  start: number,
  { script, end }: { readonly script: number; readonly end: number },
  locales: readonly string[],
): string | null {
  if (locales.length === 1) return locales[0]!
  if (script === CJ) return chineseOrJapanese(text.slice(start, end), locales)
  if (script === ARABIC) return arabicLanguage(text.slice(start, end), locales)
  if (script === LATIN && locales.length > 0) return latinLanguage(text.slice(start, end), locales)
  return null
}

function chineseOrJapanese(run: string, locales: readonly string[]): string {
  const chinese = locales.length === 0 || locales.includes('cmn') || locales.includes('zho')
  if (!chinese) return 'jpn'
  const kana = run.match(KANA)?.length ?? 0
  const han = run.match(HAN)?.length ?? 0
  // Source: charabia's threshold. A few kana in Chinese text are names; more are Japanese grammar, whatever is allowed.
  return kana / Math.max(1, kana + han) > 0.05 ? 'jpn' : 'cmn'
}

/** Detects the two Latin languages with special rules by their letters. */
function latinLanguage(run: string, locales: readonly string[]): string | null {
  if (locales.includes('swe') && /[åÅ]/.test(run)) return 'swe'
  if (locales.includes('deu') && /[üÜß]/.test(run)) return 'deu'
  if (/[äÄöÖ]/.test(run)) return locales.find((locale) => locale === 'swe' || locale === 'deu') ?? null
  return null
}
