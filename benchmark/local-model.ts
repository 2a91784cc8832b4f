/**
 * npm run bench:local-model -- [--save]: sentences per second with a model of the size of MiniLM-L6, with random
 * weights.
 *
 * The benchmark generates the model. Needs the model runtime from `npm run build:embed`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { madeModel, writeModel } from '../__test__/models/tiny-model.js'
import { loadRuntime } from '../ts/embedding/models/runtime.js'
import { type Figure, saveRun } from './results.js'

const SIZES = { hidden: 384, layers: 6, heads: 12, intermediate: 1536, positions: 512 }
const WORDS = 30_522
/** Words of a sentence. With the two special tokens, 32 tokens. */
const SENTENCE_WORDS = 30
const SENTENCES = 256
const RUNS = 3

const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]']
const words = [
  ...special,
  ...Array.from({ length: WORDS - special.length }, (_, at) => `w${at.toString(36)}`),
]
const sentences = Array.from({ length: SENTENCES }, (_, sentence) =>
  Array.from(
    { length: SENTENCE_WORDS },
    (_, at) => words[4 + ((sentence * 977 + at * 131) % (WORDS - 4))],
  ).join(' '),
)

const folder = await mkdtemp(join(tmpdir(), 'siftd-model-'))
const figures: Figure[] = []
const keep = (label: string, threads: number, value: string): void => {
  const [table, column] = [
    'a model of the size of MiniLM-L6, sentences of 32 tokens',
    threads === 1 ? '1 thread' : `${threads} threads`,
  ]
  const known = figures.find((figure) => figure.label === label)
  const measured = { ...known?.measured, [column]: value }
  if (known === undefined) figures.push({ table, label, measured })
  else figures[figures.indexOf(known)] = { ...known, measured }
  console.log(label, measured)
}
try {
  await writeModel(folder, madeModel('bert', SIZES, { words }).files)
  for (const threads of [1, 2]) {
    const began = performance.now()
    const model = await loadRuntime(threads, 'bench')(folder, 'useModel')
    const loadedMs = performance.now() - began
    keep('loading', threads, `${loadedMs.toFixed(0)} ms`)
    for (const batch of [1, 8, 32]) {
      const rates: number[] = []
      for (let run = 0; run < RUNS; run++) rates.push(await rateOf(batch))
      rates.sort((a, b) => a - b)
      const [least, median, most] = rates.map((rate) => rate.toFixed(1))
      keep(`batches of ${batch}`, threads, `${median} /s (${least} to ${most})`)
    }

    async function rateOf(batch: number): Promise<number> {
      const from = performance.now()
      for (let at = 0; at < SENTENCES; at += batch)
        await model.embed(sentences.slice(at, at + batch), false, new AbortController().signal)
      return SENTENCES / ((performance.now() - from) / 1000)
    }
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
if (process.argv.includes('--save')) await saveRun('local-model', figures)
