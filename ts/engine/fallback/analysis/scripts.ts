/** Classifies characters by script. Source: search §2.1, step 1. */

/** Scripts with special rules come first; the others only need distinct numbers. */
export const OTHER = 0
export const LATIN = 1
export const CJ = 2
export const HANGUL = 3
export const ARABIC = 4
export const THAI = 5
export const KHMER = 6
export const HEBREW = 7
export const GREEK = 8
export const CYRILLIC = 9
export const ARMENIAN = 10
export const GEORGIAN = 11

const RANGES: readonly (readonly [script: number, from: number, to: number])[] = [
  [LATIN, 0x41, 0x5a],
  [LATIN, 0x61, 0x7a],
  [LATIN, 0x80, 0x2af],
  [LATIN, 0x1d00, 0x1dbf],
  [LATIN, 0x1e00, 0x1eff],
  [LATIN, 0x2100, 0x214f],
  [LATIN, 0x2c60, 0x2c7f],
  [LATIN, 0xa720, 0xa7ff],
  [LATIN, 0xab30, 0xab6f],
  [HANGUL, 0x1100, 0x11ff],
  [HANGUL, 0x3130, 0x318f],
  [HANGUL, 0x3200, 0x32ff],
  [HANGUL, 0xa960, 0xa97f],
  [HANGUL, 0xac00, 0xd7ff],
  [HANGUL, 0xff00, 0xffef],
]

/** By Unicode property: numbers from `CJ` as above, then a number each. */
const PROPERTIES: readonly (readonly [script: number, pattern: RegExp])[] = [
  [CJ, /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30fc]$/u],
  [ARABIC, /^\p{Script=Arabic}$/u],
  [THAI, /^\p{Script=Thai}$/u],
  [KHMER, /^\p{Script=Khmer}$/u],
  [HEBREW, /^\p{Script=Hebrew}$/u],
  [GREEK, /^\p{Script=Greek}$/u],
  [CYRILLIC, /^\p{Script=Cyrillic}$/u],
  [ARMENIAN, /^\p{Script=Armenian}$/u],
  [GEORGIAN, /^\p{Script=Georgian}$/u],
  [20, /^\p{Script=Devanagari}$/u],
  [21, /^\p{Script=Bengali}$/u],
  [22, /^\p{Script=Tamil}$/u],
  [23, /^\p{Script=Telugu}$/u],
  [24, /^\p{Script=Kannada}$/u],
  [25, /^\p{Script=Malayalam}$/u],
  [26, /^\p{Script=Gujarati}$/u],
  [27, /^\p{Script=Gurmukhi}$/u],
  [28, /^\p{Script=Oriya}$/u],
  [29, /^\p{Script=Sinhala}$/u],
  [30, /^\p{Script=Myanmar}$/u],
  [31, /^\p{Script=Ethiopic}$/u],
]

const UNKNOWN = 255
const basicPlane = new Uint8Array(0x10000).fill(UNKNOWN)
basicPlane.fill(OTHER, 0, 0x80)
for (const [script, from, to] of RANGES) basicPlane.fill(script, from, to + 1)

function lookUp(codePoint: number): number {
  const character = String.fromCodePoint(codePoint)
  return PROPERTIES.find(([, pattern]) => pattern.test(character))?.[0] ?? OTHER
}

/** Returns the script class of a code point; `OTHER` for digits, ASCII punctuation and characters without a script. */
export function scriptOf(codePoint: number): number {
  if (codePoint > 0xffff) return lookUp(codePoint)
  let script = basicPlane[codePoint]!
  if (script === UNKNOWN) {
    script = lookUp(codePoint)
    basicPlane[codePoint] = script
  }
  return script
}
