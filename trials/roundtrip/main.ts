/**
 * npm run trials -- roundtrip [options]
 *
 * Takes an instance through a dump, a snapshot and a migration, each direction of engines, and compares every copy with
 * it: answers in whole, documents, settings, tasks, batches, keys, webhooks. Ends with 1 if anything differs.
 */
import { parseArgs } from 'node:util'
import { corpusOf, madeDocuments, madeVectors, together } from './corpus.js'
import { type Passage, roundtrip } from './trial.js'

const help = `npm run trials -- roundtrip [options]

Takes an instance through a dump, a snapshot and a migration, each direction of engines, and compares every copy with it.

  --data DIRECTORY    its NDJSON, or recorded searches and what they search   (default samples)
  --queries N         searches that are compared                              (default 300)
  --documents N       documents made from chance in addition                  (default 0)
  --vectors N         documents with a vector in addition                     (default 0)
  --tasks N           small tasks in addition                                 (default 100)
  --keys N            (default 20)
  --webhooks N        20 at most                                              (default 10)
  --engine NAME       engines of sources; may be repeated                     (default native and fallback)
  --target NAME       engines of copies; may be repeated                      (default native and fallback)

Examples
  npm run trials -- roundtrip --vectors 50000 --tasks 10000
  npm run trials -- roundtrip --engine native --target native --documents 1000000`

const engines = ['native', 'fallback']
const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'samples' },
    queries: { type: 'string', default: '300' },
    documents: { type: 'string', default: '0' },
    vectors: { type: 'string', default: '0' },
    tasks: { type: 'string', default: '100' },
    keys: { type: 'string', default: '20' },
    webhooks: { type: 'string', default: '10' },
    engine: { type: 'string', multiple: true, default: engines },
    target: { type: 'string', multiple: true, default: engines },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(help)
  process.exit(0)
}

const corpora = [await corpusOf(values.data, Number(values.queries))]
if (Number(values.documents) > 0) corpora.push(madeDocuments(Number(values.documents)))
if (Number(values.vectors) > 0) corpora.push(madeVectors(Number(values.vectors)))

const cleanups: (() => unknown)[] = []
const passages: Passage[] = []
try {
  for (const source of values.engine)
    passages.push(
      ...(await roundtrip(
        { teardown: (clean) => void cleanups.push(clean) },
        {
          source,
          engines: values.target,
          corpus: together(...corpora),
          amounts: {
            keys: Number(values.keys),
            webhooks: Number(values.webhooks),
            tasks: Number(values.tasks),
          },
          say: (line) => console.log(line),
          passed: (passage) => console.log(lineOf(passage)),
        },
      )),
    )
} finally {
  for (const clean of cleanups) await clean()
}
const differing = passages.filter(({ verdicts }) => verdicts.some(({ equal, all }) => equal < all))
console.log(`${passages.length} copies, ${differing.length} of them differ`)
process.exitCode = differing.length > 0 ? 1 : 0

function lineOf({ way, from, to, writeMs, startMs, bytes, verdicts }: Passage): string {
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
  const size = bytes === null ? '' : `, ${(bytes / 1e6).toFixed(1)} MB`
  const start = startMs === 0 ? '' : `, start ${seconds(startMs)}`
  const counts = verdicts
    .filter(({ all }) => all > 0)
    .map(({ part, equal, all }) => `${part} ${equal}/${all}`)
    .join(', ')
  const examples = verdicts.flatMap(({ part, example }) =>
    example === null ? [] : [`\n    ${part}: ${example}`],
  )
  return `${way} ${from} → ${to}: ${seconds(writeMs)}${size}${start}; equal: ${counts}${examples.join('')}`
}
