// Writes the readings of Chinese characters for both engines.
//
// usage: node scripts/pinyin.mjs DIRECTORY
//
// DIRECTORY is the unpacked npm package pinyin-pro 3.29.4. A line holds a syllable without its tone, then all characters that
// may be read so. A syllable with ü is listed with v and with u, as people type it.
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const [directory] = process.argv.slice(2)
const { pinyin } = await import(resolve(directory, 'dist/index.mjs'))

/** Blocks with characters in use: unified ideographs and extension A. */
const BLOCKS = [
  [0x3007, 0x3007],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
]
/** Interjections without a vowel, such as `ng`, would match too much. */
const SYLLABLE = /^(?=.*[aeiouv])[a-z]{1,6}$/

function typed(reading) {
  const plain = reading.normalize('NFD').replaceAll(/\p{M}/gu, (mark) => (mark === '\u0308' ? mark : ''))
  const forms = plain.includes('\u0308') ? ['v', 'u'] : ['']
  return forms.map((letter) => plain.replace('u\u0308', letter)).filter((form) => SYLLABLE.test(form))
}

const characters = new Map()
const add = (character, readings) => {
  for (const syllable of readings) {
    const all = characters.get(syllable) ?? new Set()
    characters.set(syllable, all.add(character))
  }
}
const readingsOf = (character) => {
  const readings = pinyin(character, { multiple: true, type: 'array' })
  return readings.filter((reading) => reading !== character).flatMap(typed)
}
for (const [first, last] of BLOCKS)
  for (let code = first; code <= last; code++)
    add(String.fromCodePoint(code), readingsOf(String.fromCodePoint(code)))

// Texts are indexed under one of the variants of a character, which may be a rare one.
const variants = readFileSync('ts/engine/fallback/analysis/variants.ts', 'utf8').split('`')[3]
const pairs = Array.from(variants.replaceAll(/\s/g, ''))
for (let at = 0; at < pairs.length; at += 2)
  if (readingsOf(pairs[at + 1]).length === 0) add(pairs[at + 1], readingsOf(pairs[at]))

const compare = (a, b) => a.codePointAt(0) - b.codePointAt(0)
const lines = [...characters]
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([syllable, all]) => `${syllable} ${[...all].sort(compare).join('')}\n`)
writeFileSync('crates/engine/src/analysis/pinyin.txt', lines.join(''))
const folder = 'ts/engine/fallback/analysis/pinyin'
const quoted = lines.map((line) => `  '${line.trim()}',\n`).join('')
writeFileSync(
  join(folder, 'readings.ts'),
  '/** A syllable and the characters read so, from pinyin-pro. Made by scripts/pinyin.mjs. Licence: LICENSE. */\n' +
    `export const lines: readonly string[] = [\n${quoted}]\n`,
)
