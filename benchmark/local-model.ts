/**
 * npm run bench:local-model -- [--save]: sentences per second, and the time of a ranking, with models of the size of
 * MiniLM-L6, with random weights.
 *
 * The benchmark generates the models. Needs the model runtime from `npm run build:embed`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { madeModel, writeModel } from '../__test__/models/tiny-model.js'
import { type CrossEncoder, loadRuntime } from '../ts/embedding/models/runtime.js'
import { type Figure, saveRun } from './results.js'

const SIZES = { hidden: 384, layers: 6, heads: 12, intermediate: 1536, positions: 512 }
const WORDS = 30_522
/** Words of a sentence. With the two special tokens, 32 tokens. */
const SENTENCE_WORDS = 30
const SENTENCES = 256
/** Documents of a ranking, and words of each. A pair with the query has 111 tokens. */
const [RANKED, RANKED_WORDS, QUERY_WORDS] = [50, 100, 8]
const RUNS = 3

const special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]']
const words = [
  ...special,
  ...Array.from({ length: WORDS - special.length }, (_, at) => `w${at.toString(36)}`),
]
const textOf = (seed: number, length: number): string =>
  Array.from({ length }, (_, at) => words[4 + ((seed * 977 + at * 131) % (WORDS - 4))]).join(' ')
const sentences = Array.from({ length: SENTENCES }, (_, sentence) => textOf(sentence, SENTENCE_WORDS))
const query = textOf(7, QUERY_WORDS)
const ranked = Array.from({ length: RANKED }, (_, document) => textOf(document, RANKED_WORDS))

const folder = await mkdtemp(join(tmpdir(), 'siftd-model-'))
const [sentenceFolder, rankingFolder] = [join(folder, 'sentence'), join(folder, 'ranking')]
const figures: Figure[] = []
const tables = {
  sentences: 'a model of the size of MiniLM-L6, sentences of 32 tokens',
  ranking: `a cross-encoder of the size of MiniLM-L6, ${RANKED} documents of ${RANKED_WORDS} tokens`,
} as const
const keep = (table: string, label: string, threads: number, value: string): void => {
  const column = threads === 1 ? '1 thread' : `${threads} threads`
  const known = figures.find((figure) => figure.table === table && figure.label === label)
  const measured = { ...known?.measured, [column]: value }
  if (known === undefined) figures.push({ table, label, measured })
  else figures[figures.indexOf(known)] = { ...known, measured }
  console.log(label, measured)
}
try {
  await writeModel(sentenceFolder, madeModel('bert', SIZES, { words }).files)
  await writeModel(rankingFolder, madeModel('bert', SIZES, { words, labels: 1 }).files)
  for (const threads of [1, 2]) {
    const runtime = loadRuntime(threads, 'bench')
    const began = performance.now()
    const model = await runtime.sentenceModel(sentenceFolder, 'useModel')
    const loadedMs = performance.now() - began
    keep(tables.sentences, 'loading', threads, `${loadedMs.toFixed(0)} ms`)
    for (const batch of [1, 8, 32]) {
      const rates: number[] = []
      for (let run = 0; run < RUNS; run++) rates.push(await rateOf(batch))
      rates.sort((a, b) => a - b)
      const [least, median, most] = rates.map((rate) => rate.toFixed(1))
      keep(tables.sentences, `batches of ${batch}`, threads, `${median} /s (${least} to ${most})`)
    }
    const crossEncoder = await runtime.crossEncoder(rankingFolder)
    const times: (readonly [wall: number, used: number])[] = []
    for (let run = 0; run <= RUNS; run++) times.push(await ranking(crossEncoder))
    // The first starts the threads.
    for (const [at, label] of ['time', 'processor time'].entries()) {
      const [least, median, most] = times
        .slice(1)
        .map((both) => both[at]!)
        .sort((a, b) => a - b)
      keep(
        tables.ranking,
        label,
        threads,
        `${median?.toFixed(0)} ms (${least?.toFixed(0)} to ${most?.toFixed(0)})`,
      )
    }

    async function ranking(scorer: CrossEncoder): Promise<readonly [number, number]> {
      const [from, before] = [performance.now(), process.cpuUsage()]
      await scorer.score(query, ranked, new AbortController().signal)
      const { user, system } = process.cpuUsage(before)
      return [performance.now() - from, (user + system) / 1000]
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
