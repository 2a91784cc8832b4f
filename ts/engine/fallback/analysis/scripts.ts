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

/** Numbers from `CJ` as above, then a number each. Source: charabia 0.9.9. */
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
  [CYRILLIC, 0x400, 0x484],
  [CYRILLIC, 0x487, 0x52f],
  [CYRILLIC, 0x2de0, 0x2dff],
  [CYRILLIC, 0xa640, 0xa69d],
  [CYRILLIC, 0xa69f, 0xa69f],
  [ARABIC, 0x600, 0x6ff],
  [ARABIC, 0x750, 0x7ff],
  [ARABIC, 0x8a0, 0x8ff],
  [ARABIC, 0xfb50, 0xfdff],
  [ARABIC, 0xfe70, 0xfeff],
  [ARABIC, 0x10e60, 0x10e7f],
  [ARABIC, 0x1ee00, 0x1eeff],
  [HEBREW, 0x590, 0x5ff],
  [GEORGIAN, 0x10a0, 0x10ff],
  [HANGUL, 0x1100, 0x11ff],
  [HANGUL, 0x3130, 0x318f],
  [HANGUL, 0x3200, 0x32ff],
  [HANGUL, 0xa960, 0xa97f],
  [HANGUL, 0xac00, 0xd7ff],
  [HANGUL, 0xff00, 0xffef],
  [CJ, 0x2e80, 0x2e99],
  [CJ, 0x2e9b, 0x2ef3],
  [CJ, 0x2f00, 0x2fd5],
  [CJ, 0x3005, 0x3005],
  [CJ, 0x3007, 0x3007],
  [CJ, 0x3021, 0x3029],
  [CJ, 0x3038, 0x303b],
  [CJ, 0x3040, 0x30ff],
  [CJ, 0x3400, 0x4db5],
  [CJ, 0x4e00, 0x9fcc],
  [CJ, 0xf900, 0xfa6d],
  [CJ, 0xfa70, 0xfad9],
  [GREEK, 0x370, 0x3ff],
  [THAI, 0xe00, 0xe7f],
  [KHMER, 0x1780, 0x17ff],
  [KHMER, 0x19e0, 0x19ff],
  // Devanagari, Ethiopic, then the other scripts of India, Sri Lanka and Myanmar.
  [20, 0x900, 0x97f],
  [20, 0x1cd0, 0x1cff],
  [20, 0xa8e0, 0xa8ff],
  [21, 0x1200, 0x139f],
  [21, 0x2d80, 0x2ddf],
  [21, 0xab00, 0xab2f],
  [22, 0x980, 0x9ff],
  [23, 0xa00, 0xa7f],
  [24, 0xa80, 0xaff],
  [25, 0xb00, 0xb7f],
  [26, 0xb80, 0xbff],
  [27, 0xc00, 0xc7f],
  [28, 0xc80, 0xcff],
  [29, 0xd00, 0xd7f],
  [30, 0xd80, 0xdff],
  [31, 0x1000, 0x109f],
]

const basicPlane = new Uint8Array(0x10000)
for (const [script, from, to] of RANGES) if (to <= 0xffff) basicPlane.fill(script, from, to + 1)
const otherPlanes = RANGES.filter(([, from]) => from > 0xffff)

/**
 * Returns the script class of a code point, by which texts are split; `OTHER` for digits, ASCII punctuation, Armenian
 * and all other scripts.
 */
export function scriptOf(codePoint: number): number {
  if (codePoint <= 0xffff) return basicPlane[codePoint]!
  return otherPlanes.find(([, from, to]) => codePoint >= from && codePoint <= to)?.[0] ?? OTHER
}

/** Armenian letters do not split a text, but a text that consists mainly of them is Armenian. */
export const isArmenian = (codePoint: number): boolean =>
  (codePoint >= 0x530 && codePoint <= 0x58f) || (codePoint >= 0xfb13 && codePoint <= 0xfb17)
