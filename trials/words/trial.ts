/** Compares the words of MeCab with those of both engines. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Dictionaries } from '../../ts/engine/fallback/analysis/words/index.js'
import { packageFolder } from '../../ts/launch/index.js'
import { randomTexts } from './texts.js'

interface Oracle {
  readonly code: string
  readonly packages: readonly string[]
  /** Prints the words of each line of a file, separated by `|`; a tab separates ways to cut it that are right. */
  readonly script: string
}

const oracles: Readonly<Record<string, Oracle>> = {
  ja: {
    code: 'jpn',
    packages: ['fugashi==1.5.2', 'unidic-lite==1.0.8'],
    script: `
import sys, fugashi
tagger = fugashi.Tagger()
for line in open(sys.argv[1], encoding='utf8'):
    print('|'.join(word.surface for word in tagger(line.rstrip('\\n'))))`,
  },
  // Each text is cut as in a sentence: after a blank, and at its end or before a noun. Compounds are cut at their parts.
  ko: {
    code: 'kor',
    packages: ['python-mecab-ko==1.3.7', 'python-mecab-ko-dic==2.1.1.post2'],
    script: `
import sys, mecab
tagger = mecab.MeCab()
def cut(parsed):
    words = []
    for word in parsed:
        parts = [part.split('/')[0] for part in (word.feature.expression or '').split('+')]
        whole = word.feature.type == 'Compound' and ''.join(parts) == word.surface
        words += parts if whole else [word.surface]
    return '|'.join(words)
for line in open(sys.argv[1], encoding='utf8'):
    text = ' ' + line.rstrip('\\n')
    followed = tagger.parse(text + ' 도서관')
    assert followed.pop().surface == '도서관'
    print(cut(followed) + '\\t' + cut(tagger.parse(text)))`,
  },
}

interface Comparison {
  readonly language: string
  /** Null: random texts. */
  readonly given: readonly string[] | null
  readonly random: { readonly count: number; readonly seed: number }
  readonly folder: string
}

interface Report {
  readonly isEqual: boolean
  readonly lines: readonly string[]
}

const DIFFERENCES_SHOWN = 20

export function compared({ language, given, random, folder: target }: Comparison): Report {
  const oracle = oracles[language]
  if (oracle === undefined) throw new Error(`no oracle is known for ${language}`)
  const folder = resolve(target, language)
  mkdirSync(folder, { recursive: true })
  const python = join(folder, 'venv', 'bin', 'python')
  const failure = installed(python, folder, oracle.packages)
  if (failure !== null) return { isEqual: true, lines: [`${language}: skipped: ${failure}`] }

  const file = join(packageFolder(), 'packages', `words-${language}`, `words-${language}.bin`)
  if (!existsSync(file)) run(process.execPath, ['scripts/build-words.mjs', language])
  const texts = given ?? randomTexts(file, random)
  const [textFile, wordFile] = ['texts', 'words'].map((name) => join(folder, name)) as [string, string]
  writeFileSync(textFile, `${texts.join('\n')}\n`)
  const expected = run(python, ['-c', oracle.script, textFile])
  copyFileSync(file, join(folder, 'words.bin'))

  const cutter = Dictionaries.of([file]).cutter(oracle.code)!
  const lines = expected.split('\n')
  const started = performance.now()
  const cuts = texts.map((text) => [...cutter.words(text)])
  const seconds = (performance.now() - started) / 1_000
  const different: string[] = []
  const right = cuts.map((words, at) => {
    const [ours, all] = [words.join('|'), lines[at]!.split('\t')]
    if (all.includes(ours)) return ours
    different.push(`  MeCab ${all[0]}\n  ours  ${ours}`)
    return all[0]!
  })
  writeFileSync(wordFile, `${right.join('\n')}\n`)
  const perSecond = Math.round(cuts.reduce((sum, words) => sum + words.length, 0) / seconds)
  const native = nativeDifference(folder)
  return {
    isEqual: different.length === 0 && native === null,
    lines: [
      `${language}: ${texts.length} texts, ${different.length} cut unlike MeCab, ${perSecond} words per second in the fallback`,
      ...different.slice(0, DIFFERENCES_SHOWN),
      `${language}: the native engine cuts ${native === null ? 'them like MeCab' : `unlike MeCab: ${native}`}`,
    ],
  }
}

/** @returns why the packages cannot be used; null if they are installed */
function installed(python: string, folder: string, packages: readonly string[]): string | null {
  if (existsSync(join(folder, 'installed'))) return null
  const steps: [string, string[]][] = [
    ['python3', ['-m', 'venv', join(folder, 'venv')]],
    [python, ['-m', 'pip', 'install', '--quiet', ...packages]],
  ]
  for (const [command, args] of steps) {
    const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
    if (status !== 0) return error?.message ?? stderr.trim().split('\n').at(-1) ?? `${command} failed`
  }
  writeFileSync(join(folder, 'installed'), packages.join('\n'))
  return null
}

/** Runs the test of the crate that reads `words.bin`, `texts` and `words` of a folder. */
function nativeDifference(folder: string): string | null {
  const test = ['test', '--package', 'siftd-engine', '--lib', 'texts_are_cut_like_an_oracle']
  const env = { ...process.env, SIFTD_WORDS_ORACLE: folder }
  const { status, stdout, stderr, error } = spawnSync('cargo', test, {
    cwd: packageFolder(),
    encoding: 'utf8',
    env,
  })
  return status === 0 ? null : (error?.message ?? `${stdout}${stderr}`.slice(-2_000))
}

const OUTPUT_BYTES_MAX = 1 << 28

function run(command: string, args: readonly string[]): string {
  const options = { cwd: packageFolder(), encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX } as const
  const { status, stdout, stderr, error } = spawnSync(command, args, options)
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr}`)
  return stdout
}
