// Writes the Thai and Khmer words of the fallback engine from the dictionaries of the native one.
//
// usage: node scripts/word-lists.mjs DIRECTORY
//
// DIRECTORY holds `thai.txt` and `khmer.txt`, a word a line, in order: `fst range words.fst` (crate fst-bin) for the files in
// `dictionaries/fst` of charabia 0.9.9. A word is written as the number of characters that it shares with the word before
// it, as one character from `0` on, and its other characters.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

const target = 'ts/engine/fallback/analysis/dictionaries'
const [directory] = process.argv.slice(2)

/** Each word relative to the one before it, a line each. */
function frontCoded(words) {
  let before = ''
  return words.map((word) => {
    let shared = 0
    while (shared < before.length && before[shared] === word[shared]) shared++
    before = word
    return String.fromCharCode(48 + shared) + word.slice(shared)
  })
}

for (const language of ['thai', 'khmer']) {
  const words = readFileSync(join(directory, `${language}.txt`), 'utf8')
    .trimEnd()
    .split('\n')
  const packed = brotliCompressSync(frontCoded(words).join('\n'), {
    params: { [constants.BROTLI_PARAM_LGWIN]: 22 },
  })
  writeFileSync(
    join(target, `${language}.ts`),
    `/** ${words.length} words, packed by scripts/word-lists.mjs. Licence: LICENSE. */\n` +
      `export const ${language}: string =\n  '${packed.toString('base64')}'\n`,
  )
}
