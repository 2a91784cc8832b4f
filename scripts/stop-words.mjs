// Writes the stop words of both engines from the lists of the Snowball project.
//
// usage: node scripts/stop-words.mjs DIRECTORY
//
// DIRECTORY holds `en.txt` and others, as in `sphinx/search/_stopwords` of the Python package Sphinx 9.0.4. A word is listed
// as it is and without diacritics, as most texts are analysed.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const codes = {
  dan: 'da',
  deu: 'de',
  eng: 'en',
  fin: 'fi',
  fra: 'fr',
  hun: 'hu',
  ita: 'it',
  nld: 'nl',
  nob: 'no',
  por: 'pt',
  rus: 'ru',
  spa: 'es',
  swe: 'sv',
}
const [directory] = process.argv.slice(2)
const plain = (word) => word.normalize('NFKD').replaceAll(/\p{M}/gu, '')
const lines = Object.entries(codes).map(([code, name]) => {
  const listed = readFileSync(join(directory, `${name}.txt`), 'utf8')
    .split('\n')
    .flatMap((line) =>
      line
        .split('|')[0]
        .trim()
        .toLowerCase()
        .split(/[\s'’]+/),
    )
    .filter(Boolean)
  return `${code} ${[...new Set([...listed, ...listed.map(plain)])].sort().join(' ')}\n`
})
writeFileSync('crates/engine/src/analysis/stop_words.txt', lines.join(''))
const quoted = lines.map((line) => `  '${line.trim()}',\n`).join('')
writeFileSync(
  'ts/engine/fallback/analysis/snowball/stop-words.ts',
  '/** Stop words of the Snowball project: a language and its words. Made by scripts/stop-words.mjs. Licence: LICENSE. */\n' +
    `export const lines: readonly string[] = [\n${quoted}]\n`,
)
