/**
 * Here is a text: which words and separators does it hold, and where?
 *
 * Source: search §2. Documents, queries and highlighting share this one cut.
 *  1. A word never spans two scripts, a separator or a dictionary entry.
 *  2. Stop words are recognised by their decomposed spelling: case and accents count.
 *  3. A separator is judged after decomposition, so that `…` is a word of three dots.
 */
import { decomposed, folded, type Writing } from './normalise.js'
import { ARABIC, CJ, HANGUL, KHMER, LATIN, OTHER, scriptOf, THAI } from './scripts.js'
import { segments } from './segment.js'
import { HARD_SEPARATOR, Separators, SOFT } from './separators.js'

export const WORD = 0
export const SOFT_SEPARATOR = 1
export const HARD = 2
export const STOP_WORD = 3
export type TokenKind = typeof WORD | typeof SOFT_SEPARATOR | typeof HARD | typeof STOP_WORD

/** A piece of a text. `start` and `end` are UTF-16 offsets into it; `word` is the folded form. */
export interface Token extends Writing {
  readonly kind: TokenKind
  readonly word: string
  readonly start: number
  readonly end: number
}

/** The settings that decide how text is cut. */
export interface TokenizerSettings {
  readonly stopWords: readonly string[]
  readonly separatorTokens: readonly string[]
  readonly nonSeparatorTokens: readonly string[]
  readonly dictionary: readonly string[]
}

const ASCII = /^\p{ASCII}*$/u
const UNSEGMENTED = /^[\d!-/:-@[-`{-~]+$/
const KANA = /[\u3040-\u30ff]/g
const HAN = /\p{Script=Han}/gu
const PERSIAN_LETTERS = /[\u067e\u0686\u0698\u06a9\u06af\u06cc\u06f0-\u06f9]/g
/** Persian from this share of letters that Arabic lacks. Measured on city names: more of them are found so. */
const PERSIAN_SHARE = 0.3
const ARABIC_LETTERS = /\p{Script=Arabic}/gu

/** A tokenizer without settings, and what each of their texts takes beside its characters, about. */
const TOKENIZER_BYTES = 4096
const TEXT_BYTES = 64

/** A text while it is cut. */
interface Cut {
  readonly tokens: Token[]
  wordsLeft: number
}

/** Cuts texts under the settings of one index. */
export class Tokenizer {
  private readonly separators: Separators
  private readonly stopWords: ReadonlySet<string>
  private readonly separatorKinds = new Map<string, TokenKind>()
  /** About what its settings take in memory. */
  readonly bytes: number

  constructor(settings: TokenizerSettings) {
    this.separators = new Separators(
      settings.separatorTokens,
      settings.nonSeparatorTokens,
      settings.dictionary,
    )
    this.stopWords = new Set(settings.stopWords)
    const { stopWords, separatorTokens, nonSeparatorTokens, dictionary } = settings
    const texts = [stopWords, separatorTokens, nonSeparatorTokens, dictionary].flat()
    this.bytes = texts.reduce((sum, text) => sum + TEXT_BYTES + 2 * text.length, TOKENIZER_BYTES)
  }

  /**
   * @param locales languages the text may be in, empty for no restriction
   * @param wordsMax words, stop words included, after which the rest of the text is not cut
   */
  tokenize(text: string, locales: readonly string[] = [], wordsMax = Number.POSITIVE_INFINITY): Token[] {
    const cut: Cut = { tokens: [], wordsLeft: wordsMax }
    const isAscii = ASCII.test(text)
    let start = 0
    while (start < text.length && cut.wordsLeft > 0) {
      const run = isAscii ? { script: asciiScript(text), end: text.length } : runFrom(text, start)
      const writing = { script: run.script, language: languageOf(text, start, run, locales) }
      this.cutRun(text, start, run.end, writing, cut)
      start = run.end
    }
    return cut.tokens
  }

  /** The folded words of a text, without separators; stop words are words here. */
  words(text: string, locales: readonly string[] = []): string[] {
    return this.tokenize(text, locales).flatMap((token) =>
      (token.kind === WORD || token.kind === STOP_WORD) && token.word !== '' ? [token.word] : [],
    )
  }

  private cutRun(text: string, from: number, to: number, writing: Writing, cut: Cut): void {
    let pieceStart = from
    let at = from
    while (at < to && cut.wordsLeft > 0) {
      const length = this.separators.cutAt(text, at)
      if (length === 0) {
        at++
        continue
      }
      if (pieceStart < at) this.cutPiece(text, pieceStart, at, writing, cut)
      this.add(text, at, Math.min(at + length, to), writing, cut)
      at += length
      pieceStart = at
    }
    if (pieceStart < to && cut.wordsLeft > 0) this.cutPiece(text, pieceStart, to, writing, cut)
  }

  private cutPiece(text: string, from: number, to: number, writing: Writing, cut: Cut): void {
    const { script, language } = writing
    const segmented = script === CJ || script === HANGUL || script === THAI || script === KHMER
    if ((!segmented && script !== ARABIC && language !== 'deu') || UNSEGMENTED.test(text.slice(from, to))) {
      this.add(text, from, to, writing, cut)
      return
    }
    let start = from
    for (const segment of segments(text.slice(from, to), writing)) {
      if (cut.wordsLeft <= 0) return
      this.add(text, start, start + segment.length, writing, cut)
      start += segment.length
    }
  }

  private add(text: string, start: number, end: number, writing: Writing, cut: Cut): void {
    const token = this.token(text, start, end, writing)
    cut.tokens.push(token)
    if (token.kind === WORD || token.kind === STOP_WORD) cut.wordsLeft--
  }

  private token(text: string, start: number, end: number, writing: Writing): Token {
    const raw = text.slice(start, end)
    const plain = decomposed(raw, writing.language)
    const kind = this.stopWords.has(plain) ? STOP_WORD : this.separatorKind(plain)
    const word = kind === WORD || kind === STOP_WORD ? folded(plain, writing) : plain
    return { kind, word, start, end, script: writing.script, language: writing.language }
  }

  private separatorKind(plain: string): TokenKind {
    // Long texts are rarely separators and always different: only short ones are worth remembering.
    const known = plain.length <= 2 ? this.separatorKinds.get(plain) : undefined
    if (known !== undefined) return known
    const hardness = this.separators.hardness(plain)
    const kind = hardness === HARD_SEPARATOR ? HARD : hardness === SOFT ? SOFT_SEPARATOR : WORD
    if (plain.length <= 2) this.separatorKinds.set(plain, kind)
    return kind
  }
}

/** A whole text folded like its words are, run by run: how facet values are compared with a facet query. */
export function foldedText(text: string, locales: readonly string[]): string {
  let result = ''
  for (let start = 0; start < text.length; ) {
    const run = runFrom(text, start)
    const language = languageOf(text, start, run, locales)
    result += folded(decomposed(text.slice(start, run.end), language), { script: run.script, language })
    start = run.end
  }
  return result
}

const asciiScript = (text: string): number => (/[A-Za-z]/.test(text) ? LATIN : OTHER)

/** The maximal run of one script that begins at `start`; characters of no script join any run. */
function runFrom(text: string, start: number): { script: number; end: number } {
  let script = OTHER
  let at = start
  while (at < text.length) {
    const codePoint = text.codePointAt(at)!
    const here = scriptOf(codePoint)
    if (here !== OTHER && script !== OTHER && here !== script) break
    if (here !== OTHER) script = here
    at += codePoint > 0xffff ? 2 : 1
  }
  return { script, end: at }
}

/** The language of a run, where it matters. Source: search §2.1. */
function languageOf(
  text: string,
  start: number,
  { script, end }: { readonly script: number; readonly end: number },
  locales: readonly string[],
): string | null {
  if (locales.length === 1) return locales[0]!
  if (script === CJ) return chineseOrJapanese(text.slice(start, end), locales)
  if (script === ARABIC) {
    if (locales.length > 0 && !locales.includes('pes')) return 'ara'
    return persianShare(text.slice(start, end)) > PERSIAN_SHARE ? 'pes' : 'ara'
  }
  if (script === LATIN && locales.length > 0) return latinLanguage(text.slice(start, end), locales)
  return null
}

function persianShare(run: string): number {
  const letters = run.match(ARABIC_LETTERS)?.length ?? 0
  return (run.match(PERSIAN_LETTERS)?.length ?? 0) / Math.max(1, letters)
}

function chineseOrJapanese(run: string, locales: readonly string[]): string {
  const chinese = locales.length === 0 || locales.includes('cmn') || locales.includes('zho')
  const japanese = locales.length === 0 || locales.includes('jpn')
  if (!chinese) return 'jpn'
  const kana = run.match(KANA)?.length ?? 0
  const han = run.match(HAN)?.length ?? 0
  // Source: charabia's threshold; a few kana in Chinese text are names, more are Japanese grammar.
  return japanese && kana / Math.max(1, kana + han) > 0.05 ? 'jpn' : 'cmn'
}

/** Letters that give a language away, for the two Latin languages with rules of their own. */
function latinLanguage(run: string, locales: readonly string[]): string | null {
  if (locales.includes('swe') && /[åÅ]/.test(run)) return 'swe'
  if (locales.includes('deu') && /[üÜß]/.test(run)) return 'deu'
  if (/[äÄöÖ]/.test(run)) return locales.find((locale) => locale === 'swe' || locale === 'deu') ?? null
  return null
}
